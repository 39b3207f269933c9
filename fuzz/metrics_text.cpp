// metrics_text.cpp: a fuzz target for text in Prometheus' format.
#include <bloomery/guards/metrics_reader.hpp>
#include <cstdlib>

#include "target.hpp"

namespace {

using namespace bloomery;

int run_input(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto take = [&](const metric_sample& each) {
    const bool inside =
        each.family.data() >= text.data() && each.family.data() + each.family.size() <= text.data() + size;
    if (!inside || each.family.empty() || each.label("name").size() > size) std::abort();
  };
  if (const auto done = read_metrics(text, take); !done) static_cast<void>(describe(done.error()));
  return 0;
}

}  // namespace

BLOOMERY_FUZZ_TARGET(run_input)
