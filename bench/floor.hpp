// bench/floor.hpp: the memory-latency floor: the least time of a look-up that touches one cache line, by machine and size.
//
// Reads one random line of 64 bytes per step from a buffer as large as the filter; a step does nothing else but
// compute which. No filter that keeps a key in one line can be faster than that, whatever its code.
//
//     auto lines = line_reader::make(filter_bytes, page_size::huge);
//     double ns = lines->independent_ns(40);         // steps overlap: to compare with batches
//     double ns = lines->dependent_ns(40);           // a step waits for the one before: to compare with latency
//     worker_pool pool(2);
//     double ns = lines->independent_ns(40, pool);     // per line of all threads together
//
// The least of three loops counts: one that leaves overlapping to the processor, and two that prefetch ahead, into the first
// cache and into the second, which has a longer queue.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/wide.hpp>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "bench/clock.hpp"
#include "bench/worker_pool.hpp"

namespace bloomery::bench {

enum class page_size : std::uint8_t { small, huge };

namespace detail {

inline void* allocate_small_pages(void* /*context*/, std::size_t size, std::size_t /*alignment*/) {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
#ifdef MADV_NOHUGEPAGE
  ::madvise(memory, size, MADV_NOHUGEPAGE);
#endif
  return memory;
}
inline void release_small_pages(void* /*context*/, void* memory, std::size_t size, std::size_t /*alignment*/) {
  ::munmap(memory, size);
}

}  // namespace detail

// Memory for a filter or a buffer. Huge pages are requested; the kernel may refuse them.
inline const memory_hooks& memory_of(page_size pages) {
  static constexpr memory_hooks small{.allocate = detail::allocate_small_pages, .release = detail::release_small_pages};
  return pages == page_size::small ? small : default_memory();
}

class line_reader {
 public:
  static result<line_reader> make(std::uint64_t size_bytes, page_size pages) {
    constexpr std::uint64_t line = cache_line_bytes;
    const std::uint64_t lines = std::max<std::uint64_t>(1, (size_bytes + line - 1) / line);
    auto memory = aligned_buffer::make(lines * line, "lines to read", &memory_of(pages));
    if (!memory) return fail(memory.error());
    std::memset(memory->data(), 0, memory->size_bytes());  // pages are there before the clock runs
    return line_reader(std::move(*memory), lines);
  }

  [[nodiscard]] double independent_ns(std::size_t chunks) {
    worker_pool alone(1);
    return independent_ns(chunks, alone);
  }
  [[nodiscard]] double independent_ns(std::size_t chunks, worker_pool& threads) {
    // Several chunks a round, because threads have to start together.
    const std::size_t at_once = 8;
    const auto time = [&](auto read) {
      std::vector<double> times;
      for (std::size_t i = 0; i < chunks; ++i) {
        ++round_;
        times.push_back(threads.run([&](unsigned thread) {
          for (std::size_t chunk = 0; chunk < at_once; ++chunk) {
            const std::uint64_t sum = read(mix64(round_ * 1024 + thread * 64 + chunk));
            keep(&sum);
          }
        }));
      }
      return ns_per_key(low_percentile(std::move(times)), chunk_keys * at_once * threads.threads());
    };
    return std::min({time([this](std::uint64_t salt) { return read_plainly(salt); }),
                     time([this](std::uint64_t salt) { return read_ahead<3>(salt); }),
                     time([this](std::uint64_t salt) { return read_ahead<2>(salt); })});
  }

  [[nodiscard]] double dependent_ns(std::size_t chunks) {
    std::vector<double> times;
    for (std::size_t i = 0; i < chunks; ++i) {
      const std::uint64_t salt = mix64(++round_ * 1024);
      times.push_back(seconds_of([&] {
        std::uint64_t last = 0;
        for (const std::uint64_t number : numbers_) last = word_of(number ^ salt ^ last);
        keep(&last);
      }));
    }
    return ns_per_key(low_percentile(std::move(times)));
  }
  [[nodiscard]] std::uint64_t size_bytes() const { return memory_.size_bytes(); }
  // Other candidates ran since: brings back into the caches what fits there.
  void warm() const {
    std::uint64_t sum = 0;
    for (std::uint64_t line = 0; line < lines_; ++line) {
      std::uint64_t word = 0;
      std::memcpy(&word, memory_.data() + line * cache_line_bytes, sizeof word);
      sum += word;
    }
    keep(&sum);
  }

 private:
  line_reader(aligned_buffer memory, std::uint64_t lines)
      : memory_(std::move(memory)), lines_(lines), numbers_(chunk_keys) {
    for (std::size_t i = 0; i < numbers_.size(); ++i) numbers_[i] = mix64((i + 1) * 0x9e3779b97f4a7c15ULL);
  }

  [[nodiscard]] const std::byte* line_of(std::uint64_t number) const {
    return memory_.data() + fast_range(number, lines_) * cache_line_bytes;
  }
  // All words are 0, which the compiler does not know.
  [[nodiscard]] std::uint64_t word_of(std::uint64_t number) const {
    std::uint64_t word = 0;
    std::memcpy(&word, line_of(number), sizeof word);
    return word;
  }
  [[nodiscard]] std::uint64_t read_plainly(std::uint64_t salt) const {
    std::uint64_t sum = 0;
    for (const std::uint64_t number : numbers_) sum += word_of(number ^ salt);
    return sum;
  }
  // Locality as __builtin_prefetch has it: 3 is the first cache, 2 the second.
  template <int Locality>
  [[nodiscard]] std::uint64_t read_ahead(std::uint64_t salt) const {
    constexpr std::size_t ahead = Locality == 3 ? 32 : 64;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < ahead; ++i) __builtin_prefetch(line_of(numbers_[i] ^ salt), 0, Locality);
    for (std::size_t i = 0; i < numbers_.size() - ahead; ++i) {
      __builtin_prefetch(line_of(numbers_[i + ahead] ^ salt), 0, Locality);
      sum += word_of(numbers_[i] ^ salt);
    }
    for (std::size_t i = numbers_.size() - ahead; i < numbers_.size(); ++i) sum += word_of(numbers_[i] ^ salt);
    return sum;
  }

  aligned_buffer memory_;
  std::uint64_t lines_;
  std::vector<std::uint64_t> numbers_;
  std::uint64_t round_ = 0;
};

struct floor_figures {
  std::uint64_t size_bytes = 0;
  double independent = 0;        // ns per line, one thread, huge pages
  double independent_small = 0;  // small pages
  double dependent = 0;
  double dependent_small = 0;
  double threads_independent = 0;  // all threads, huge pages
  double threads_independent_small = 0;
};

// Measures in rounds, with other candidates between them; the least of all rounds counts. One thread runs before all threads and
// again after them: the first run alone finds colder caches, and the gain of threads would look larger than their number.
class floor_meter {
 public:
  static result<floor_meter> make(std::uint64_t size_bytes) {
    auto huge = line_reader::make(size_bytes, page_size::huge);
    if (!huge) return fail(huge.error());
    auto small = line_reader::make(size_bytes, page_size::small);
    if (!small) return fail(small.error());
    return floor_meter(size_bytes, std::move(*huge), std::move(*small));
  }

  void take_round(std::size_t chunks, worker_pool& threads) {
    const auto least = [](double& of, double ns) { of = of == 0 ? ns : std::min(of, ns); };
    huge_.warm();
    least(figures_.independent, huge_.independent_ns(chunks));
    least(figures_.threads_independent, huge_.independent_ns(chunks, threads));
    least(figures_.independent, huge_.independent_ns(chunks));
    least(figures_.dependent, huge_.dependent_ns(chunks));
    small_.warm();
    least(figures_.independent_small, small_.independent_ns(chunks));
    least(figures_.threads_independent_small, small_.independent_ns(chunks, threads));
    least(figures_.independent_small, small_.independent_ns(chunks));
    least(figures_.dependent_small, small_.dependent_ns(chunks));
  }
  [[nodiscard]] const floor_figures& figures() const { return figures_; }

 private:
  floor_meter(std::uint64_t size_bytes, line_reader huge, line_reader small)
      : huge_(std::move(huge)), small_(std::move(small)), figures_{.size_bytes = size_bytes} {}

  line_reader huge_;
  line_reader small_;
  floor_figures figures_;
};

inline result<floor_figures> measure_floor(std::uint64_t size_bytes, std::size_t chunks, worker_pool& threads) {
  auto meter = floor_meter::make(size_bytes);
  if (!meter) return fail(meter.error());
  constexpr std::size_t rounds = 4;
  for (std::size_t round = 0; round < rounds; ++round) meter->take_round((chunks + rounds - 1) / rounds, threads);
  return meter->figures();
}

}  // namespace bloomery::bench
