// guards/metrics.hpp: what filters and guards count, as text that Prometheus and its relatives read.
//
//     bloomery::metrics page;
//     if (!page.add("users", guard)) return 2;               // anything with collect(metric_sink&): guards, your own
//     bloomery::memory_sink text;
//     if (!page.render(bloomery::byte_sink(text))) return 2; // bloomery_lookups_total{name="users",answer="saved"} 97
//     send(text.bytes());                                    // as the answer to GET /metrics
//
// What it is    a list of sources of figures. render() asks each for its samples, and writes them family by family, each
//               with its HELP and TYPE line, in the text format 0.0.4. A source's name becomes the label `name`.
// Your own      struct my_counters { void collect(bloomery::metric_sink& to) const { to.count(my_family, value); } };
//               A family is a constant: name, help and type.
// Cost          figures of a filter (`collect_filter`) read all of its bits: 10 ms for 100 MB.
// Memory        a sample takes some 500 bytes while the text is made.
// Threads       render() may run while guards work: their counters are atomic. add, remove and render of one registry:
//               one thread at a time. A source must live until it is removed, or as long as the registry.
#pragma once

#include <array>
#include <atomic>
#include <bloomery/any_filter.hpp>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/native/sink.hpp>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

enum class metric_type : std::uint8_t { counter, gauge, histogram };

// A name as Prometheus wants it: letters, digits and _; counters end in _total, units are seconds and bytes.
struct metric_family {
  std::string_view name;
  std::string_view help;
  metric_type type = metric_type::gauge;
};
struct metric_label {
  std::string_view name;
  std::string_view value;
};

// How long something took: counts in steps of 1, 2, 5, 10 from a microsecond to ten seconds. Any number of threads.
class BLOOMERY_API latency_histogram {
 public:
  static constexpr std::array<std::uint64_t, 22> bounds_ns = [] {
    std::array<std::uint64_t, 22> out{};
    std::uint64_t decade = 1000;
    for (std::size_t i = 0; i < out.size(); ++i) {
      constexpr std::array<std::uint64_t, 3> step{1, 2, 5};
      out[i] = decade * step[i % 3];
      if (i % 3 == 2) decade *= 10;
    }
    return out;
  }();

  void record_ns(std::uint64_t ns) noexcept;
  // Of the durations up to bounds_ns[i]; i == bounds_ns.size(): all of them.
  [[nodiscard]] std::uint64_t count_up_to(std::size_t i) const noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept { return count_up_to(bounds_ns.size()); }
  [[nodiscard]] double sum_seconds() const noexcept {
    return static_cast<double>(sum_ns_.load(std::memory_order_relaxed)) * 1e-9;
  }

 private:
  std::array<std::atomic<std::uint64_t>, bounds_ns.size() + 1> in_{};
  std::atomic<std::uint64_t> sum_ns_{0};
};

// Takes the samples of one source.
class BLOOMERY_API metric_sink {
 public:
  void count(const metric_family& family, std::uint64_t value, metric_label label = {}) noexcept;
  void value(const metric_family& family, double value, metric_label label = {}) noexcept;
  void histogram(const metric_family& family, const latency_histogram& value, metric_label label = {}) noexcept;

 private:
  friend class metrics;
  static constexpr std::size_t most_label_bytes = 448;
  struct sample {
    const metric_family* family = nullptr;
    std::array<char, most_label_bytes> labels{};  // name="users",answer="saved"
    std::uint64_t integer = 0;
    double real = 0;
    const latency_histogram* histogram = nullptr;
    bool is_integer = false;
  };
  explicit metric_sink(const memory_hooks* memory) noexcept : memory_(memory) {}
  void add(const metric_family& family, metric_label label, sample made) noexcept;

  const memory_hooks* memory_;
  std::string_view name_{};
  aligned_list<sample> samples_{};
  result<void> done_{};
};

// A source of samples: anything with `void collect(metric_sink&) const`.
template <class T>
concept metric_source = requires(const T& source, metric_sink& to) {
  source.collect(to);
};

class BLOOMERY_API metrics {
 public:
  explicit metrics(const memory_hooks* memory = nullptr) noexcept : memory_(memory) {}

  // Refers to the source. A name has at most 191 bytes.
  template <metric_source T>
  result<void> add(std::string_view name, const T& source) noexcept {
    return add(name, &source, [](const void* from, metric_sink& to) { static_cast<const T*>(from)->collect(to); });
  }
  template <metric_source T>
  result<void> add(std::string_view name, const T&& source) = delete;
  // All samples of this source; false: it was not there.
  bool remove(const void* source) noexcept;

  [[nodiscard]] result<void> render(const byte_sink& to) const noexcept;

 private:
  using collector = void (*)(const void* source, metric_sink& to);
  struct entry {
    std::array<char, 192> name{};
    const void* source = nullptr;
    collector collect = nullptr;
  };
  result<void> add(std::string_view name, const void* source, collector collect) noexcept;

  const memory_hooks* memory_;
  aligned_list<entry> sources_{};
};

// The figures of one filter: keys, capacity, fill, FPR, memory. A filter that cannot be read gives none of them.
BLOOMERY_API void collect_filter(metric_sink& to, const any_filter& filter) noexcept;

// A filter as a source of its own.
struct filter_metrics {
  const any_filter& filter;
  void collect(metric_sink& to) const noexcept { collect_filter(to, filter); }
};

// Families that guards share; the tool reads them back.
namespace metric_families {
inline constexpr metric_family lookups{"bloomery_lookups_total", "Look-ups of a guard, by what became of them.",
                                       metric_type::counter};
inline constexpr metric_family source_seconds{"bloomery_source_seconds", "Time that the guarded source took.",
                                              metric_type::histogram};
inline constexpr metric_family measured_fpr{"bloomery_measured_fpr",
                                            "False positives among the look-ups of absent keys.", metric_type::gauge};
inline constexpr metric_family efficiency{"bloomery_efficiency_ratio", "Look-ups that never reached the source.",
                                          metric_type::gauge};
inline constexpr metric_family inserts{"bloomery_inserts_total", "Keys inserted.", metric_type::counter};
inline constexpr metric_family removals{"bloomery_removals_total", "Keys removed from the source.",
                                        metric_type::counter};
inline constexpr metric_family rebuilds{"bloomery_rebuilds_total", "Rebuilds, by what became of them.",
                                        metric_type::counter};
inline constexpr metric_family filtering{"bloomery_filtering", "1: the filter answers; 0: every look-up is a maybe.",
                                         metric_type::gauge};
inline constexpr metric_family keys{"bloomery_keys", "Keys in the filter, counted or estimated from its fill.",
                                    metric_type::gauge};
inline constexpr metric_family capacity{"bloomery_capacity_keys", "Keys that the filter was made for.",
                                        metric_type::gauge};
inline constexpr metric_family fill{"bloomery_fill_ratio", "Share of the filter's cells that are in use.",
                                    metric_type::gauge};
inline constexpr metric_family target_fpr{"bloomery_target_fpr", "False-positive rate that the filter was made for.",
                                          metric_type::gauge};
inline constexpr metric_family fpr_now{"bloomery_fpr_now", "False-positive rate that follows from the fill.",
                                       metric_type::gauge};
inline constexpr metric_family memory{"bloomery_memory_bytes", "Memory of the filter.", metric_type::gauge};
}  // namespace metric_families

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/guards/metrics.cpp>
#endif
