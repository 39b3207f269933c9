#include <bloomery/guards/metrics.hpp>
#include <cmath>
#include <cstdio>

namespace bloomery::inline BLOOMERY_ABI {

// ---- latency_histogram ----

BLOOMERY_BODY void latency_histogram::record_ns(std::uint64_t ns) noexcept {
  std::size_t i = 0;
  while (i < bounds_ns.size() && ns > bounds_ns[i]) ++i;
  in_[i].fetch_add(1, std::memory_order_relaxed);
  sum_ns_.fetch_add(ns, std::memory_order_relaxed);
}

BLOOMERY_BODY std::uint64_t latency_histogram::count_up_to(std::size_t i) const noexcept {
  std::uint64_t count = 0;
  for (std::size_t at = 0; at <= i && at < in_.size(); ++at) count += in_[at].load(std::memory_order_relaxed);
  return count;
}

// ---- samples ----

namespace detail {

// name="value", with what would end the value early written as the format wants it; false when it does not fit.
inline bool put_label(std::span<char> text, std::size_t& used, metric_label label) noexcept {
  const auto put = [&](char c) {
    if (used + 1 >= text.size()) return false;
    text[used++] = c;
    return true;
  };
  bool fits = used == 0 || put(',');
  for (const char c : label.name) fits = fits && put(c);
  fits = fits && put('=') && put('"');
  for (const char c : label.value) {
    if (c == '\n') {
      fits = fits && put('\\') && put('n');
    } else {
      if (c == '"' || c == '\\') fits = fits && put('\\');
      fits = fits && put(c);
    }
  }
  return fits && put('"');
}

// A line that fits into its memory: the parts of it are bounded.
template <class... Parts>
std::string_view print(std::span<char> buffer, const char* format, Parts... parts) noexcept {
  const int size = std::snprintf(buffer.data(), buffer.size(), format, parts...);
  if (size <= 0) return {};
  return {buffer.data(), std::min(static_cast<std::size_t>(size), buffer.size() - 1)};
}

inline result<void> write_text(const byte_sink& to, std::string_view text) noexcept {
  return to(std::as_bytes(std::span(text.data(), text.size())));
}

inline std::string_view type_name(metric_type type) noexcept {
  switch (type) {
    case metric_type::counter:
      return "counter";
    case metric_type::histogram:
      return "histogram";
    case metric_type::gauge:
      break;
  }
  return "gauge";
}

inline result<void> write_histogram(const byte_sink& to, std::string_view family, const char* labels,
                                    const latency_histogram& histogram) noexcept {
  std::array<char, 1024> line;
  const int name_size = static_cast<int>(family.size());
  const char* comma = *labels == '\0' ? "" : ",";
  for (std::size_t i = 0; i < latency_histogram::bounds_ns.size(); ++i) {
    const double bound = static_cast<double>(latency_histogram::bounds_ns[i]) * 1e-9;
    auto done = write_text(to, print(line, "%.*s_bucket{%s%sle=\"%.9g\"} %llu\n", name_size, family.data(), labels,
                                     comma, bound, static_cast<unsigned long long>(histogram.count_up_to(i))));
    if (!done) return done;
  }
  const auto all = static_cast<unsigned long long>(histogram.count());
  auto done =
      write_text(to, print(line, "%.*s_bucket{%s%sle=\"+Inf\"} %llu\n", name_size, family.data(), labels, comma, all));
  if (!done) return done;
  done = write_text(to, print(line, "%.*s_sum{%s} %.9g\n", name_size, family.data(), labels, histogram.sum_seconds()));
  if (!done) return done;
  return write_text(to, print(line, "%.*s_count{%s} %llu\n", name_size, family.data(), labels, all));
}

}  // namespace detail

BLOOMERY_BODY void metric_sink::add(const metric_family& family, metric_label label, sample made) noexcept {
  if (!done_) return;
  made.family = &family;
  std::size_t used = 0;
  bool fits = name_.empty() || detail::put_label(made.labels, used, {"name", name_});
  if (!label.name.empty()) fits = fits && detail::put_label(made.labels, used, label);
  if (!fits) {
    done_ = fail(errc::unsupported, "the labels of a metric are too long");
    return;
  }
  made.labels[used] = '\0';
  done_ = samples_.reserve(samples_.size() + 1, "the metrics", memory_);
  if (done_) samples_.push(made);
}

BLOOMERY_BODY void metric_sink::count(const metric_family& family, std::uint64_t value, metric_label label) noexcept {
  add(family, label, {.integer = value, .is_integer = true});
}
BLOOMERY_BODY void metric_sink::value(const metric_family& family, double value, metric_label label) noexcept {
  add(family, label, {.real = value});
}
BLOOMERY_BODY void metric_sink::histogram(const metric_family& family, const latency_histogram& value,
                                          metric_label label) noexcept {
  add(family, label, {.histogram = &value});
}

// ---- the registry ----

BLOOMERY_BODY result<void> metrics::add(std::string_view name, const void* source, collector collect) noexcept {
  entry made{.source = source, .collect = collect};
  if (name.size() >= made.name.size()) return fail(errc::unsupported, "the name of a metric has at most 191 bytes");
  if (!name.empty()) std::memcpy(made.name.data(), name.data(), name.size());
  auto space = sources_.reserve(sources_.size() + 1, "the metrics", memory_);
  if (!space) return space;
  sources_.push(made);
  return {};
}

BLOOMERY_BODY bool metrics::remove(const void* source) noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].source != source) sources_[kept++] = sources_[i];
  }
  const bool found = kept != sources_.size();
  sources_.shrink(kept);
  return found;
}

BLOOMERY_BODY result<void> metrics::render(const byte_sink& to) const noexcept {
  metric_sink sink(memory_);
  for (const entry& each : sources_) {
    sink.name_ = each.name.data();
    each.collect(each.source, sink);
  }
  if (!sink.done_) return sink.done_;
  std::array<char, 1024> line;
  for (std::size_t first = 0; first < sink.samples_.size(); ++first) {
    const metric_family& family = *sink.samples_[first].family;
    bool is_first = true;
    for (std::size_t i = 0; i < first && is_first; ++i) is_first = sink.samples_[i].family->name != family.name;
    if (!is_first) continue;
    const int name_size = static_cast<int>(family.name.size());
    const std::string_view type = detail::type_name(family.type);
    auto done = detail::write_text(
        to, detail::print(line, "# HELP %.*s %.*s\n# TYPE %.*s %.*s\n", name_size, family.name.data(),
                          static_cast<int>(family.help.size()), family.help.data(), name_size, family.name.data(),
                          static_cast<int>(type.size()), type.data()));
    for (std::size_t i = first; i < sink.samples_.size() && done; ++i) {
      const auto& each = sink.samples_[i];
      if (each.family->name != family.name) continue;
      const char* labels = each.labels.data();
      if (each.histogram != nullptr) {
        done = detail::write_histogram(to, family.name, labels, *each.histogram);
        continue;
      }
      const char* open = *labels == '\0' ? "" : "{";
      const char* close = *labels == '\0' ? "" : "}";
      const auto integer = static_cast<unsigned long long>(each.integer);
      done =
          detail::write_text(to, each.is_integer ? detail::print(line, "%.*s%s%s%s %llu\n", name_size,
                                                                 family.name.data(), open, labels, close, integer)
                                                 : detail::print(line, "%.*s%s%s%s %.9g\n", name_size,
                                                                 family.name.data(), open, labels, close, each.real));
    }
    if (!done) return done;
  }
  return {};
}

BLOOMERY_BODY void collect_filter(metric_sink& to, const any_filter& filter) noexcept {
  const auto stats = filter.stats();
  if (!stats) return;
  const bool counted = stats->keys.exact;
  to.value(metric_families::keys, counted ? static_cast<double>(stats->keys.keys) : stats->estimated_keys);
  to.value(metric_families::fill, stats->fill);
  if (stats->target_known) {
    to.count(metric_families::capacity, stats->capacity_keys);
    to.value(metric_families::target_fpr, stats->target_fpr);
  }
  to.value(metric_families::fpr_now, stats->fpr_now);
  to.count(metric_families::memory, stats->memory_bytes);
}

}  // namespace bloomery::inline BLOOMERY_ABI
