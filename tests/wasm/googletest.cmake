# GoogleTest for WebAssembly, from the sources that Debian packages: a library of this machine is of no use there.
set(googletest /usr/src/googletest/googletest)
add_library(bloomery_wasm_gtest STATIC EXCLUDE_FROM_ALL ${googletest}/src/gtest-all.cc ${googletest}/src/gtest_main.cc)
target_include_directories(bloomery_wasm_gtest SYSTEM PUBLIC ${googletest}/include PRIVATE ${googletest})
target_compile_features(bloomery_wasm_gtest PUBLIC cxx_std_20)
target_compile_definitions(
  bloomery_wasm_gtest PUBLIC GTEST_HAS_PTHREAD=0 GTEST_HAS_EXCEPTIONS=0 GTEST_HAS_RTTI=0 GTEST_HAS_STREAM_REDIRECTION=0
                             GTEST_HAS_DEATH_TEST=0)
target_compile_options(bloomery_wasm_gtest PRIVATE -w)
add_library(GTest::gtest ALIAS bloomery_wasm_gtest)
add_library(GTest::gtest_main ALIAS bloomery_wasm_gtest)
add_library(bloomery_wasm_no_threads INTERFACE)
add_library(Threads::Threads ALIAS bloomery_wasm_no_threads)
