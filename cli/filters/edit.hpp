// cli/filters/edit.hpp: changing a filter in its file.
//
//     auto edit = filter_edit::open(opts);               // the first operand: locked, loaded, all of it checked
//     auto stream = edit->keys(opts);                    // the other operands, or standard input
//     edit->filter().insert(...);
//     if (auto saved = edit->save(); !saved) return failed(saved.error());
//
// The file is unchanged until `save`, which replaces it atomically, in the same encoding: compressed, text or plain,
// with the same permissions. Until then no other process may change it (file_lock.hpp). Of a filter in shards, the
// first one is locked, and all are replaced.
#pragma once

#include <bloomery/any_filter.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cli/filters/file_lock.hpp"
#include "cli/filters/kind_table.hpp"
#include "cli/filters/open.hpp"
#include "cli/flags/flags.hpp"
#include "cli/keys/digests.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

class filter_edit {
 public:
  static outcome<filter_edit> open(const options& opts);
  // The file with this name, or the set of shards.
  static outcome<filter_edit> open_file(const options& opts, const std::string& path);

  [[nodiscard]] any_filter& filter() { return opened_.filter; }
  [[nodiscard]] const any_filter& filter() const { return opened_.filter; }
  [[nodiscard]] const formats::format& format() const { return *opened_.format; }
  [[nodiscard]] const std::string& name() const { return opened_.name; }
  [[nodiscard]] outcome<hasher> hash(const options& opts) const { return hasher_of(opts, opened_); }
  [[nodiscard]] outcome<digest_stream> keys(const options& opts) const;
  [[nodiscard]] outcome<void> save() const;

 private:
  filter_edit(file_lock lock, opened_filter opened) : lock_(std::move(lock)), opened_(std::move(opened)) {}

  file_lock lock_;
  opened_filter opened_;
};

// The warning for a filter that holds more keys than its capacity and exceeds its target FPR; empty for others.
std::string overfull_text(const any_filter& filter, const filter_stats& stats);

// A problem when the filter's kind has not this ability: "is of kind blocked, which cannot <what>; ..."
outcome<void> check_ability(std::string_view name, const any_filter& filter, std::string_view what,
                            bool kind_capabilities::*can);

}  // namespace bloomery::cli
