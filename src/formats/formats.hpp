// src/formats/formats.hpp: THE list of formats, one line each. A new format is its .cpp here, with `const format
// NAME_format`, its test and its page in docs/formats, and its line below.
//
// What a format's .cpp is made of: foreign_bloom.hpp for the filter itself, sizes.hpp for the numbers that are
// requested.
#pragma once

#include <array>
#include <bloomery/formats.hpp>

namespace bloomery::inline BLOOMERY_ABI::formats {

extern const format native_format;
extern const format text_format;
extern const format dcso_format;
extern const format bits_and_blooms_format;
extern const format guava_format;
extern const format hbase_format;
extern const format leveldb_format;
extern const format leveldb_table_format;
extern const format redisbloom_format;
extern const format spark_format;

inline constexpr std::array every_format = {
    &native_format,           //
    &text_format,             //
    &dcso_format,             //
    &bits_and_blooms_format,  //
    &guava_format,            //
    &hbase_format,            //
    &leveldb_format,          //
    &leveldb_table_format,    //
    &redisbloom_format,       //
    &spark_format,            //
};

// `detect` over another list than every_format, for tests.
result<const format*> detect_among(std::span<const format* const> list, const detection_input& seen) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::formats
