# For CMAKE_TOOLCHAIN_FILE: WebAssembly (wasm32, WASI) with Debian's clang 19. The packages are the group [wasm] of
# packages.txt. WASI has no threads, no exceptions and no mapped files; what needs them is not built.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(BLOOMERY_WASM ON)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_EXECUTABLE_SUFFIX .wasm)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CXX_FLAGS_INIT "-fno-exceptions -fno-rtti")
# The stack is 64 KiB by default and lies above the data: what outgrows it writes into the data, and nothing notices. Below
# the data, an overflow is a trap.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-z,stack-size=1048576 -Wl,--stack-first")
# What the core needs is headers, which every processor shares. What lies beside them is this machine's.
set(_bloomery_shared_headers ${CMAKE_BINARY_DIR}/shared_headers)
file(MAKE_DIRECTORY ${_bloomery_shared_headers}/tl)
if(EXISTS /usr/include/xxhash.h)
  file(CREATE_LINK /usr/include/xxhash.h ${_bloomery_shared_headers}/xxhash.h SYMBOLIC)
endif()
if(EXISTS /usr/include/tl/expected.hpp)
  # Without exceptions, tl::expected 1.0 copies where it should move, so that what cannot be copied cannot be assigned.
  file(READ /usr/include/tl/expected.hpp _bloomery_expected)
  set(_bloomery_moves "construct(std::move(rhs).get());\n    } else {\n      assign_common(")
  string(REPLACE "${_bloomery_moves}rhs)" "${_bloomery_moves}std::move(rhs))" _bloomery_expected "${_bloomery_expected}")
  file(CONFIGURE OUTPUT ${_bloomery_shared_headers}/tl/expected.hpp CONTENT "${_bloomery_expected}" @ONLY)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)
list(APPEND CMAKE_INCLUDE_PATH ${_bloomery_shared_headers})
