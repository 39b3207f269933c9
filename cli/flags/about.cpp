// What help and bloomery(1) say of the tool as a whole.
#include <array>

#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr std::array topics = {
    topic{"Keys",
          "A key is a line of the input, without its newline: of the files named, or of standard input, which is also "
          "called -. Lines may be of any length and hold any bytes; an empty line is the empty key, and the last line "
          "needs no newline. Input compressed with gzip, zstd or xz is recognised by its first bytes and unpacked. "
          "What is "
          "surely no keys (bzip2, lz4 and other archives, filters) is refused by name. --no-decompress reads all bytes "
          "as they are.\n\n"
          "A key may also be a field or several fields of a line (-f, -d), a column of a CSV file (--csv, --header), "
          "bytes written in hexadecimal (--hex), an integer (--u64), or end with a NUL byte instead of a newline (-0). "
          "Keys must be written in the same way for a filter to find them again."},
    topic{"Filters",
          "A filter is one file. Its content says what it is; its name means nothing. It is opened memory-mapped and "
          "checked against its checksums: the header at once, each part when it is first touched.\n\n"
          "A file is written under another name, flushed to the disk and put in its place: it is there whole or not "
          "at all, also after Ctrl-C. A file that exists is replaced only with --force."},
    topic{
        "Output",
        "Data goes to standard output, everything else to standard error. Progress is shown when that is a terminal "
        "and the work takes longer than half a second. With --json there is one object on standard output, or one a "
        "line. A reader that goes away, such as head, ends the tool quietly.\n\n"
        "A warning is printed when a promise is broken, such as by a filter that holds more keys than it was made for, "
        "also with -q. With --strict the exit code is then 1."},
};

constexpr std::array environment = {
    variable{"BLOOMERY_ISA", "instruction set to use, if the processor has it: scalar, sse2, avx2, avx512 or neon",
             on_all & ~on_help},
    variable{"LC_ALL, LC_CTYPE, LANG",
             "on a terminal, pictures use more than ASCII if the first of these that is set names UTF-8",
             on_plan | on_info | on_demo | on_bench},
    variable{"NO_COLOR", "if it is set and not empty, no colours, unless --color says otherwise",
             on_info | on_plan | on_verify | on_kinds | on_formats | on_hashes | on_demo | on_bench},
    variable{"TERM", "if it is dumb, no colours",
             on_info | on_plan | on_verify | on_kinds | on_formats | on_hashes | on_demo | on_bench},
    variable{"TMPDIR", "folder for temporary files (default /tmp)", on_demo | on_dedup},
};

constexpr std::array examples = {
    example{"bloomery build -o seen.bloom urls.txt", "a filter of the lines of urls.txt"},
    example{"bloomery query seen.bloom today.txt > probably-seen.txt", "the lines of today.txt that may be in it"},
    example{"bloomery query -v seen.bloom today.txt > surely-new.txt", "the lines that are surely not in it"},
};

constexpr tool_page page = {
    .summary = "membership filters",
    .intro =
        "Membership filters: small answers to \"have I seen this key?\", with no false \"no\" and a chosen rate of "
        "false \"yes\".",
    .numbers = "Numbers may be written 1e9, 10M, 1Gi, 64KiB, 0.1% or 1/1000.",
    .topics = topics,
    .environment = environment,
    .examples = examples,
    .exit_codes = "0: yes or done; 1: no (nothing matched, verification failed), or a warning with --strict; 2: error",
};

}  // namespace

const tool_page& about_tool() { return page; }

}  // namespace bloomery::cli
