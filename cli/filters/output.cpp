#include "cli/filters/output.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bloomery/native/codec.hpp>
#include <cerrno>
#include <cstring>

#include "cli/filters/in_place.hpp"
#include "cli/filters/shards.hpp"
#include "cli/flags/format_choice.hpp"
#include "cli/terminal/output.hpp"

namespace bloomery::cli {
namespace {

bool status_of(const std::string& path, struct stat& status) {
  return (path == "-" ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status)) == 0;
}

}  // namespace

outcome<void> check_output(const options& opts, unsigned shards) {
  const std::string path(opts.text(flag::output));
  const formats::format& format = output_format(opts);
  if (path.empty()) return fail_usage("give the file to write: -o FILE, or -o - for standard output");
  if (auto free = check_set_output(opts, path, shards); !free) return free;
  if (const auto codec = codec_id(opts.text(flag::compress, "none"))) {
    if (auto can = formats::packs(format, *codec); !can) return fail_parameter(can.error());
  }
  if (path == "-") {
    if (opts.has(flag::json)) return fail_usage("--json and -o - would both write to standard output: give a file");
    if (format.name != "text" && isatty(STDOUT_FILENO) == 1) {
      return fail_usage("-o -: a terminal cannot show a binary filter: redirect it, or give --format text");
    }
    return {};
  }
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    if (!folder.empty() && stat(folder.c_str(), &status) != 0) {
      return fail_file(path, fmt::format("cannot create: {}", std::strerror(errno)));
    }
    return {};
  }
  if (S_ISDIR(status.st_mode)) return fail_file(path, make_error(errc::is_directory));
  if (S_ISREG(status.st_mode) && !opts.has(flag::force)) return fail_file(path, make_error(errc::already_exists));
  return {};
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one {};
  struct stat other {};
  return status_of(a, one) && status_of(b, other) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

outcome<void> check_not_input(const std::string& path, std::span<const std::string> inputs) {
  struct stat status {};
  if (path != "-" && stat(path.c_str(), &status) != 0) return check_set_not_input(path, inputs);
  if (path == "-" || !S_ISREG(status.st_mode)) return {};
  bool same = inputs.empty() && is_same_file(path, "-");
  for (const std::string& input : inputs) same |= is_same_file(path, input);
  if (same) return fail_file(path, "is an input as well: give another name for the output");
  return {};
}

outcome<void> save_filter(const options& opts, const any_filter& filter, const formats::format* otherwise) {
  const auto codec = codec_id(opts.text(flag::compress, "none"));
  if (!codec) return fail_parameter(codec.error());
  const auto taken = format_options_of(opts);
  if (!taken) return failed(taken.error());
  const formats::format& format = output_format(opts, otherwise);
  const save_options how{.codec = *codec, .replace = opts.has(flag::force)};
  const std::string path(opts.text(flag::output));
  if (path != "-") {
    if (auto free = check_set_output(opts, path, filter.shards()); !free) return free;
    if (auto saved = formats::save(filter, format, path.c_str(), how, *taken); !saved) {
      return fail_file(path, saved.error());
    }
    set_in_place(path);
    return {};
  }
  output out;
  auto to_output = [&](std::span<const std::byte> bytes) -> result<void> {
    out.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (out.is_broken()) return fail(errc::io, "cannot write");
    return {};
  };
  const auto saved = formats::save_to(filter, format, byte_sink(to_output), how, *taken);
  if (auto done = out.flush(); !done) return done;  // reports why a write failed
  if (!saved) return fail_file("standard output", saved.error());
  return {};
}

std::uint64_t size_of_file(std::string_view path) {
  struct stat status {};
  if (path == "-") return 0;
  if (stat(std::string(path).c_str(), &status) != 0) return size_of_set(std::string(path));
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace bloomery::cli
