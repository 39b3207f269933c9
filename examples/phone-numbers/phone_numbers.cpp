// One in a billion phone numbers: the numbers are streamed into a filter and saved; then one look-up in the mapped file. See
// README.md.
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bloomery/any_filter.hpp>
#include <chrono>
#include <filesystem>
#include <unordered_set>
#include <vector>

#include "examples/common/example.hpp"

using namespace examples;

namespace {

constexpr std::uint64_t all_numbers = 10'000'000'000;  // of one country: 1 and ten digits
constexpr std::size_t digits = 11;

// Number i of a list without repeats in no order: the multiplier has no factor in common with 10^10. Numbers of the list are
// those below its length, others are absent.
std::uint64_t number_of(std::uint64_t i) { return all_numbers + i * 7'640'891'577 % all_numbers; }

void write_digits(std::uint64_t number, char* out) {
  for (std::size_t place = digits; place-- > 0; number /= 10) out[place] = static_cast<char>('0' + number % 10);
}

// Calls f(batch of keys) for the numbers [from, to): 4,096 at a time are all that is ever in memory.
template <class F>
void for_each_batch(std::uint64_t from, std::uint64_t to, F&& f) {
  constexpr std::uint64_t most = 4096;
  std::vector<char> text(most * digits);
  std::vector<std::uint32_t> ends(most + 1);
  for (std::uint32_t i = 0; i <= most; ++i) ends[i] = i * digits;
  while (from < to) {
    const std::uint64_t count = std::min(most, to - from);
    for (std::uint64_t i = 0; i < count; ++i) write_digits(number_of(from + i), text.data() + i * digits);
    f(bloomery::byte_columns(std::as_bytes(std::span(text)), std::span(ends).first(count + 1)));
    from += count;
  }
}

std::uint64_t count_maybe(const bloomery::any_filter& filter, std::uint64_t from, std::uint64_t to) {
  std::uint64_t found = 0;
  std::vector<std::uint64_t> mask(64);
  for_each_batch(from, to, [&](const bloomery::byte_columns& keys) {
    must(filter.may_contain(keys, mask));
    for (std::size_t i = 0; i < keys.keys(); ++i) found += mask[i / 64] >> (i % 64) & 1U;
  });
  return found;
}

class stopwatch {
 public:
  [[nodiscard]] double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started_).count();
  }

 private:
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

// The file as the kernel sees it: which of its pages are in memory (mincore), and out with them.
class page_cache {
 public:
  explicit page_cache(const std::string& path) : file_(::open(path.c_str(), O_RDONLY)) {
    if (file_ < 0) stop("cannot open " + path);
    size_ = static_cast<std::size_t>(::lseek(file_, 0, SEEK_END));
    bytes_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_, 0);
    if (bytes_ == MAP_FAILED) stop("cannot map " + path);
  }
  page_cache(const page_cache&) = delete;
  page_cache& operator=(const page_cache&) = delete;
  ~page_cache() {
    ::munmap(bytes_, size_);
    ::close(file_);
  }
  void drop() const {
    ::fsync(file_);
    ::posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED);
  }
  [[nodiscard]] std::uint64_t pages() const { return (size_ + page_bytes - 1) / page_bytes; }
  [[nodiscard]] std::uint64_t resident() const {
    std::vector<unsigned char> states(pages());
    if (::mincore(bytes_, size_, states.data()) != 0) stop("mincore failed");
    std::uint64_t count = 0;
    for (const unsigned char each : states) count += each & 1U;
    return count;
  }

 private:
  static constexpr std::size_t page_bytes = 4096;
  int file_;
  std::size_t size_ = 0;
  void* bytes_ = nullptr;
};

// Opens the file that no page of is in memory, and looks one number up.
void look_up_cold(const std::string& path, const char* what, std::uint64_t number, bool trust) {
  const page_cache cache(path);
  cache.drop();
  const std::uint64_t before = cache.resident();
  const stopwatch time;
  const bloomery::any_filter filter = must(bloomery::any_filter::open(path, {.trust = trust}));
  char key[digits];
  write_digits(number, key);
  const bool maybe = must(filter.may_contain(std::string_view(key, digits)));
  const double took_ms = time.ms();
  std::printf("  %-10s %.*s: %s in %.2f ms; %s of %s pages in memory, before: %s\n", what, static_cast<int>(digits),
              key, maybe ? "maybe" : "absent", took_ms, grouped(cache.resident()).c_str(),
              grouped(cache.pages()).c_str(), grouped(before).c_str());
}

// Measured with as many of the numbers as fit into a second or so.
double set_bytes_per_number(std::uint64_t numbers) {
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  std::unordered_set<std::uint64_t> set;
  for (std::uint64_t i = 0; i < numbers; ++i) set.insert(number_of(i));
  const std::size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
  return static_cast<double>(after - before) / static_cast<double>(numbers);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  const std::uint64_t numbers = option(arguments, "--numbers", 1'000'000);
  const std::string path = text_option(arguments, "--folder", ".") + "/phones.bloom";
  if (numbers == 0 || numbers > 2'000'000'000) stop("--numbers takes 1 to 2000000000");
  const bloomery::filter_params params{.keys = numbers, .fpr = 0.01};

  const bloomery::size_plan plan = must(bloomery::any_filter::plan("blocked", params));
  bloomery::any_filter filter = must(bloomery::any_filter::make("blocked", params, bloomery::hasher{}));
  const stopwatch building;
  for_each_batch(0, numbers, [&](const bloomery::byte_columns& keys) { must(filter.add(keys)); });
  const double build_ms = building.ms();
  must(filter.save(path, {.replace = true}));
  const std::uint64_t file_bytes = std::filesystem::file_size(path);
  std::printf("built        %s numbers in %.1f s, %.0f ns each; no list of them in memory or on disk\n",
              grouped(numbers).c_str(), build_ms / 1e3, build_ms * 1e6 / static_cast<double>(numbers));
  std::printf("  planned    %s, %.2f bits a number\n", mebibytes(plan.memory_bytes).c_str(), plan.bits_per_key);
  std::printf("  in memory  %s; file %s\n", mebibytes(filter.allocated_bytes()).c_str(), mebibytes(file_bytes).c_str());

  const double set_bytes = set_bytes_per_number(std::min<std::uint64_t>(numbers, 1'000'000));
  std::printf("instead      %s in a hash set: %.0f bytes a number, measured with %s\n",
              mebibytes(static_cast<std::uint64_t>(set_bytes * static_cast<double>(numbers))).c_str(), set_bytes,
              grouped(std::min<std::uint64_t>(numbers, 1'000'000)).c_str());
  std::printf("             %s in a sorted array of 8 bytes each\n", mebibytes(numbers * 8).c_str());
  std::printf("             %s in a bitmap of the 10^10 numbers of a country, which is exact; %s of 10^12 numbers\n",
              mebibytes(all_numbers / 8).c_str(), mebibytes(all_numbers / 8 * 100).c_str());

  const std::uint64_t tried = std::min<std::uint64_t>(numbers, 10'000'000);
  const std::uint64_t wrong = count_maybe(filter, numbers, numbers + tried);
  const std::uint64_t found = count_maybe(filter, 0, tried);
  std::printf("look-ups     %s absent numbers: %s \"maybe\" (1 %% was asked for); of %s that are there %s missed\n",
              grouped(tried).c_str(), percent(wrong, tried).c_str(), grouped(tried).c_str(),
              grouped(tried - found).c_str());
  std::printf("one look-up, from a file that is not in memory\n");
  look_up_cold(path, "checked", number_of(numbers / 2), false);
  look_up_cold(path, "trusted", number_of(numbers / 2), true);
}
