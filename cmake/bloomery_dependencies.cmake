# What Bloomery needs from the system, as imported targets. Used by the build and, installed, by find_package(bloomery),
# so that both look in the same places.
#
#   bloomery_find_dependency(<name> HEADER <file> [LIBRARY <name>])
#
# makes bloomery_dependency::<name>, or leaves it undefined and appends <name> to bloomery_missing_dependencies.

macro(bloomery_find_dependency name)
  cmake_parse_arguments(_bloomery_arg "" "HEADER;LIBRARY" "" ${ARGN})
  if(NOT TARGET bloomery_dependency::${name})
    find_path(BLOOMERY_${name}_INCLUDE_DIR ${_bloomery_arg_HEADER})
    mark_as_advanced(BLOOMERY_${name}_INCLUDE_DIR)
    set(_bloomery_found ${BLOOMERY_${name}_INCLUDE_DIR})
    if(_bloomery_found AND _bloomery_arg_LIBRARY)
      find_library(BLOOMERY_${name}_LIBRARY ${_bloomery_arg_LIBRARY})
      mark_as_advanced(BLOOMERY_${name}_LIBRARY)
      set(_bloomery_found ${BLOOMERY_${name}_LIBRARY})
    endif()
    if(_bloomery_found)
      add_library(bloomery_dependency::${name} INTERFACE IMPORTED)
      set_target_properties(bloomery_dependency::${name} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                                                    "${BLOOMERY_${name}_INCLUDE_DIR}")
      if(_bloomery_arg_LIBRARY)
        set_target_properties(bloomery_dependency::${name} PROPERTIES INTERFACE_LINK_LIBRARIES
                                                                      "${BLOOMERY_${name}_LIBRARY}")
      endif()
    else()
      list(APPEND bloomery_missing_dependencies ${name})
    endif()
  endif()
endmacro()

macro(bloomery_find_core_dependencies)
  bloomery_find_dependency(xxhash HEADER xxhash.h)
  bloomery_find_dependency(expected HEADER tl/expected.hpp)
endmacro()

macro(bloomery_find_codecs_dependencies)
  bloomery_find_dependency(zstd HEADER zstd.h LIBRARY zstd)
  bloomery_find_dependency(zlib HEADER zlib.h LIBRARY z)
endmacro()

macro(bloomery_find_formats_dependencies)
  bloomery_find_dependency(zlib HEADER zlib.h LIBRARY z)
endmacro()

macro(bloomery_find_leveldb_dependencies)
  bloomery_find_dependency(leveldb HEADER leveldb/db.h LIBRARY leveldb)
endmacro()

macro(bloomery_find_rocksdb_dependencies)
  bloomery_find_dependency(rocksdb HEADER rocksdb/filter_policy.h LIBRARY rocksdb)
endmacro()

# bloomery::bitmap needs nothing more, and bloomery::all links the others.
macro(bloomery_find_bitmap_dependencies)
endmacro()
macro(bloomery_find_all_dependencies)
endmacro()
