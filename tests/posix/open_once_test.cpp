// A file is opened once: detection, header, loading and mapping work on one descriptor, whatever gets the name meanwhile.
#include <fcntl.h>
#include <unistd.h>
#include <bloomery/formats.hpp>
#include <bloomery/posix/load.hpp>
#include <bloomery/posix/mapped.hpp>
#include <bloomery/posix/save.hpp>
#include <bloomery/posix/shard_set.hpp>
#include <bloomery/wrappers/any_shards.hpp>

#include <bloomery/kinds/blocked.hpp>
#include <filesystem>

#include "support/filters.hpp"

namespace bloomery::test {
namespace {

class OpenOnce : public testing::Test {
 protected:
  void SetUp() override { enable_everything(); }

  // Of these keys, as large as each other.
  static any_filter filter_of(std::uint64_t first, std::string_view kind = "blocked") {
    auto made = any_filter::make(kind, {.keys = 20'000, .fpr = 0.01}, hasher{});
    EXPECT_TRUE(made);
    for (std::uint64_t key = first; key < first + 5000; ++key) EXPECT_TRUE(made->insert(key));
    return std::move(*made);
  }
  // The file with this name is another one now.
  void replace(const std::string& name, const any_filter& filter, const save_options& how = {}) const {
    save_options options = how;
    options.replace = true;
    ASSERT_TRUE(filter.save(box_ / name, options));
  }
  template <class R>
  static void expect_filter(const R& opened, const any_filter& expected, const char* what) {
    ASSERT_TRUE(opened) << what << ": " << describe(opened.error()).view();
    EXPECT_TRUE(*opened == expected) << what;
  }
  // The read end of a pipe that holds these bytes and ends.
  static result<input_file> piped(const bytes& content) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    EXPECT_GE(::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), static_cast<int>(content.size()));
    EXPECT_EQ(::write(ends[1], content.data(), content.size()), static_cast<ssize_t>(content.size()));
    ::close(ends[1]);
    return input_file::adopt(detail::unique_fd(ends[0]));
  }

  folder box_;
};

TEST_F(OpenOnce, AFileThatIsReplacedAfterItWasOpenedIsReadWhole) {
  const any_filter ours = filter_of(0);
  const any_filter other = filter_of(100'000, "cuckoo");
  for (const save_options& how : {save_options{}, save_options{.codec = codec_zstd}, save_options{.text = true}}) {
    const bool is_plain = how.codec == codec_none && !how.text;
    replace("f", ours, how);
    const auto file = input_file::open(box_ / "f");
    ASSERT_TRUE(file);
    replace("f", other);
    expect_filter(any_filter::load(*file), ours, "loaded");
    const auto opened = any_filter::open(*file);
    expect_filter(opened, ours, "opened");
    EXPECT_EQ(opened->is_mapped(), is_plain);
    const auto detected = formats::open(*file);
    ASSERT_TRUE(detected);
    EXPECT_TRUE(detected->filter == ours);
    EXPECT_EQ(detected->form->name, how.text ? "text" : "native");
    EXPECT_EQ(detected->codec, how.codec);
    EXPECT_EQ(detected->size_bytes, file->size_bytes());
    ASSERT_TRUE(load<blocked>(*file));
    if (is_plain) {
      EXPECT_TRUE(mapped<blocked>::open(*file));
    }
    expect_filter(any_filter::open(box_ / "f"), other, "by its name");
  }
}

TEST_F(OpenOnce, AFileThatIsReplacedAfterItsHeaderWasReadIsReadWhole) {
  const any_filter ours = filter_of(0);
  const any_filter other = filter_of(100'000, "cuckoo");
  for (const save_options& how : {save_options{}, save_options{.codec = codec_zstd}, save_options{.text = true}}) {
    replace("f", ours, how);
    const auto file = input_file::open(box_ / "f");
    ASSERT_TRUE(file);
    const auto native = native_file::read(*file);
    ASSERT_TRUE(native);
    replace("f", other);
    EXPECT_EQ(native->header().kind_id, blocked::info.id);
    EXPECT_EQ(native->header().text, how.text);
    EXPECT_EQ(native->mappable_file() != nullptr, how.codec == codec_none && !how.text);
    expect_filter(any_filter::load(*native), ours, "loaded");
    expect_filter(any_filter::open(*native), ours, "opened");
    ASSERT_TRUE(load<blocked>(*native));
    EXPECT_EQ(mapped<blocked>::open(*native).has_value(), native->mappable_file() != nullptr);
  }
}

TEST_F(OpenOnce, AFileOfAnotherProductThatIsReplacedIsReadWhole) {
  const formats::format& form = *formats::find("dcso");
  auto ours = formats::make("dcso", {.keys = 1000, .fpr = 0.01});
  auto other = formats::make("dcso", {.keys = 500, .fpr = 0.01});
  ASSERT_TRUE(ours && other);
  ASSERT_TRUE(ours->insert("alice"));
  ASSERT_TRUE(formats::save(*ours, form, box_ / "f"));
  const auto file = input_file::open(box_ / "f");
  ASSERT_TRUE(file);
  ASSERT_TRUE(formats::save(*other, form, box_ / "f", {.replace = true}));
  const auto opened = formats::open(*file);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->filter.is_mapped());
  EXPECT_TRUE(opened->filter == *ours);
}

// The stamps distinguish the sets, and a shard is what its own header states.
TEST_F(OpenOnce, ASetThatIsReplacedMidwayIsRefused) {
  const auto set_of = [&](std::uint64_t first) {
    auto made = make_shards("blocked", {.keys = 20'000, .fpr = 0.01}, hasher{}, {.shards = 3});
    EXPECT_TRUE(made);
    for (std::uint64_t key = first; key < first + 1000; ++key) EXPECT_TRUE(made->insert(key));
    return std::move(*made);
  };
  const any_filter ours = set_of(0);
  ASSERT_TRUE(ours.save(box_ / "s"));
  const auto first = input_file::open(box_ / "s.00-of-03");
  ASSERT_TRUE(first);
  const auto opened = open_shard_files(box_ / "s", 3, {.first = &*first});
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->filter == ours);
  EXPECT_EQ(opened->first.shard.count, 3U);
  std::uint64_t size_bytes = 0;
  for (unsigned i = 0; i < 3; ++i)
    size_bytes += std::filesystem::file_size(shard_path((box_ / "s").c_str(), i, 3).c_str());
  EXPECT_EQ(opened->size_bytes, size_bytes);
  ASSERT_TRUE(set_of(50'000).save(box_ / "s", {.replace = true}));
  for (const bool in_memory : {false, true}) {
    const auto mixed = open_shard_files(box_ / "s", 3, {.in_memory = in_memory, .first = &*first});
    ASSERT_FALSE(mixed);
    EXPECT_EQ(mixed.error().code, errc::bad_shard);
    EXPECT_EQ(mixed.error().number[0], 1U);
  }
  EXPECT_TRUE(opened->filter == ours) << "what is mapped stays";
}

TEST_F(OpenOnce, APipeIsReadOnceAndWhole) {
  const any_filter ours = filter_of(0);
  for (const save_options& how : {save_options{}, save_options{.codec = codec_zstd}, save_options{.text = true}}) {
    const bytes content = saved_bytes(ours, how);
    const auto loaded = any_filter::load(*piped(content));
    expect_filter(loaded, ours, "loaded");
    const auto opened = any_filter::open(*piped(content));
    expect_filter(opened, ours, "opened");
    EXPECT_FALSE(opened->is_mapped());
    EXPECT_TRUE(load<blocked>(*piped(content)));
    const auto detected = formats::open(*piped(content));
    ASSERT_TRUE(detected);
    EXPECT_TRUE(detected->filter == ours);
    EXPECT_EQ(detected->size_bytes, content.size());
    EXPECT_EQ(detected->header->codec, how.codec);
    EXPECT_EQ(detected->header->text, how.text);
    const auto pipe = piped(content);
    const auto native = native_file::read(*pipe);
    ASSERT_TRUE(native);
    EXPECT_EQ(native->header().text, how.text);
    expect_filter(any_filter::open(*native), ours, "after its header");
    EXPECT_EQ(mapped<blocked>::open(*native).error().code, errc::not_mappable);
  }
  EXPECT_EQ(mapped<blocked>::open(*piped(saved_bytes(ours))).error().code, errc::not_mappable);
}

// By name, by descriptor, after the header was read, from a pipe and from memory.
TEST_F(OpenOnce, EveryWayReportsTheSameErrors) {
  const bytes whole = saved_bytes(filter_of(0));
  std::vector<std::pair<errc, bytes>> files = {{errc::empty_file, {}},
                                               {errc::not_a_filter, as_bytes("hello, world\n")}};
  files.emplace_back(errc::truncated, bytes(whole.begin(), whole.begin() + 100));
  files.emplace_back(errc::truncated, bytes(whole.begin(), whole.end() - 1));
  files.emplace_back(errc::trailing_bytes, whole);
  files.back().second.push_back(std::byte{0});
  files.emplace_back(errc::header_damaged, whole);
  files.back().second[100] ^= std::byte{1};
  files.emplace_back(errc::chunk_damaged, whole);
  files.back().second[whole.size() / 2] ^= std::byte{1};
  for (const auto& [code, content] : files) {
    const std::string path = box_ / "f";
    write_bytes(path, content);
    const std::string expected = error_of(any_filter::load_bytes(content));
    EXPECT_EQ(any_filter::load_bytes(content).error().code, code) << expected;
    EXPECT_EQ(error_of(any_filter::load(path)), expected);
    EXPECT_EQ(error_of(load<blocked>(path)), expected);
    const auto file = input_file::open(path);
    ASSERT_TRUE(file);
    EXPECT_EQ(error_of(any_filter::load(*file)), expected);
    EXPECT_EQ(error_of(any_filter::load(*piped(content))), expected);
    if (code == errc::chunk_damaged) {
      EXPECT_EQ(error_of(any_filter::open(path)->stats()), expected) << "when it is touched";
      EXPECT_TRUE(read_header(path));
      continue;
    }
    EXPECT_EQ(error_of(any_filter::open(path)), expected);
    EXPECT_EQ(error_of(native_file::read(*file)), expected);
    EXPECT_EQ(error_of(read_header(path)), expected);
    EXPECT_EQ(error_of(mapped<blocked>::open(path)), expected);
    EXPECT_EQ(error_of(formats::open(path, {.from = "native"})), expected);
    EXPECT_EQ(error_of(formats::open(*piped(content), {.from = "native"})), expected);
    if (code != errc::not_a_filter) {
      EXPECT_EQ(error_of(formats::open(path)), expected);
      EXPECT_EQ(error_of(formats::open(*piped(content))), expected);
    }
  }
}

TEST_F(OpenOnce, WhatCannotBeOpenedIsTheSameErrorEverywhere) {
  const auto expect_everywhere = [](const std::string& path, errc code) {
    EXPECT_EQ(input_file::open(path).error().code, code) << path;
    EXPECT_EQ(any_filter::load(path).error().code, code) << path;
    EXPECT_EQ(any_filter::open(path).error().code, code) << path;
    EXPECT_EQ(load<blocked>(path).error().code, code) << path;
    EXPECT_EQ(mapped<blocked>::open(path).error().code, code) << path;
    EXPECT_EQ(formats::open(path).error().code, code) << path;
    EXPECT_EQ(read_header(path).error().code, code) << path;
    EXPECT_EQ(read_file(path).error().code, code) << path;
  };
  expect_everywhere(box_ / "none", errc::io);
  expect_everywhere(box_ / ".", errc::is_directory);
  if (::geteuid() == 0) return;  // may read everything
  write_bytes(box_ / "secret", saved_bytes(filter_of(0)));
  ASSERT_EQ(::chmod((box_ / "secret").c_str(), 0), 0);
  expect_everywhere(box_ / "secret", errc::io);
}

TEST_F(OpenOnce, ANameIsACStringAStringOrAPath) {
  const any_filter ours = filter_of(0);
  const std::string text = box_ / "f";
  const std::filesystem::path path(text);
  const char* const name = text.c_str();
  ASSERT_TRUE(ours.save(path));
  ASSERT_TRUE(ours.save(text, {.replace = true}));
  ASSERT_TRUE(ours.save(name, {.replace = true}));
  for (const auto& opened : {any_filter::open(path), any_filter::open(text), any_filter::open(name),
                             any_filter::load(path), any_filter::load(text), any_filter::load(name)}) {
    expect_filter(opened, ours, "any_filter");
  }
  const auto stored = load<blocked>(path);
  ASSERT_TRUE(stored && load<blocked>(text) && load<blocked>(name));
  EXPECT_TRUE(save(stored->filter, stored->hash, path, {.replace = true}));
  EXPECT_TRUE(save(stored->filter, stored->hash, text, {.replace = true}));
  EXPECT_TRUE(mapped<blocked>::open(path) && mapped<blocked>::open(text) && mapped<blocked>::open(name));
  EXPECT_TRUE(formats::open(path) && formats::open(text) && formats::open(name));
  EXPECT_TRUE(read_header(path) && read_file(path) && read_filter(path) && input_file::open(path));
  EXPECT_TRUE(formats::save(ours, *formats::find("text"), path, {.replace = true}));
}

}  // namespace
}  // namespace bloomery::test
