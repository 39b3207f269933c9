// cli/terminal/output.hpp: standard output, in large blocks.
//
// Lines are collected and written in blocks of 256 KiB. A failed write is remembered and reported by flush(): a full
// disk is an error, a reader that closed the pipe is a quiet end. Flush where a reader may be waiting, and once at the
// end, always.
//
//     output out;
//     out.write("seen\n");
//     if (auto done = out.flush(); !done) return failed(done.error());
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

class output {
 public:
  output();
  output(const output&) = delete;
  output& operator=(const output&) = delete;

  void write(std::string_view text) {
    if (text.size() > block_bytes - buffer_.size()) return write_slow(text);
    buffer_.append(text);
  }
  void write(char c) { write(std::string_view(&c, 1)); }
  // An object, indented, with a newline. Bytes that are not UTF-8 become U+FFFD.
  void write_json(const nlohmann::ordered_json& value);
  [[nodiscard]] outcome<void> flush();
  // Whether a write has failed, so that more work is useless.
  [[nodiscard]] bool is_broken() const { return error_ != 0; }

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 18U;
  void write_slow(std::string_view text);
  void drain(std::string_view text);

  std::string buffer_;
  int error_ = 0;
};

// Text on standard error, complete lines in one call.
void write_stderr(std::string_view text);

}  // namespace bloomery::cli
