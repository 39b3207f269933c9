// cli/terminal/remedies.hpp: what the tool calls the remedies of the library's errors, by its own flags and verbs.
//
//     text_of(make_error(errc::already_exists))     // "exists already: use --force to replace it, or another name"
#pragma once

#include <bloomery/core/result.hpp>
#include <string>
#include <string_view>

namespace bloomery::cli {

// The library's words where they are those of the tool, too.
constexpr std::string_view tool_words(remedy what) noexcept {
  switch (what) {
    case remedy::leave_layout_out:
      return "leave --layout out";
    case remedy::leave_mode_out:
      return "leave --mode out";
    case remedy::leave_hashes_out:
      return "leave --hashes out";
    case remedy::leave_compression_out:
      return "leave --compress out";
    case remedy::use_integer_keys:
      return "use --u64 and leave --hash out";
    case remedy::give_the_secret:
      return "give the key file that it was built with";
    case remedy::list_kinds:
      return "see 'bloomery kinds'";
    case remedy::list_hashes:
      return "see 'bloomery hashes'";
    case remedy::list_formats:
      return "see 'bloomery formats'";
    case remedy::accept_any_fpr:
      return "use --any-fpr to merge them all the same";
    case remedy::allow_replace:
      return "use --force to replace it, or another name";
    case remedy::name_the_format:
      return "say which with --from";
    default:
      return plain_words(what);
  }
}

// What is wrong and what would help, without the path: the tool puts the name in front by which the user knows a file.
inline std::string text_of(const error& e) {
  error unnamed = e;
  unnamed.path = {};
  return std::string(describe(unnamed, tool_words).view());
}

}  // namespace bloomery::cli
