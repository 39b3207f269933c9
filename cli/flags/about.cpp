// The texts of help and bloomery(1) about the tool itself.
#include <array>

#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr std::array topics = {
    topic{"Keys",
          "A key is a line of the input files, or of standard input (also called -), without its newline. Lines may be "
          "of any length and hold any bytes; an empty line is the empty key, and the last line "
          "needs no newline. Input compressed with gzip, zstd or xz is detected by its first bytes and unpacked. "
          "Input that cannot be a list of keys (bzip2, lz4, archives, filters) is refused by name. --no-decompress "
          "reads all bytes unchanged.\n\n"
          "A key may also be a field or several fields of a line (-f, -d), a column of a CSV file (--csv, --header), "
          "bytes written in hexadecimal (--hex), an integer (--u64), or end with a NUL byte instead of a newline (-0). "
          "Keys must be written in the same way for a filter to find them again."},
    topic{"Filters",
          "A filter is one file. Its content determines its format; its name does not matter. It is memory-mapped and "
          "checked against its checksums: the header when it is opened, each chunk when it is first touched.\n\n"
          "A file is written under a temporary name, flushed to disk and renamed: it appears complete or not at all, "
          "also after Ctrl-C. An existing file is replaced only with --force."},
    topic{
        "Output",
        "Data goes to standard output, everything else to standard error. Progress is shown when that is a terminal "
        "and the work takes longer than half a second. With --json there is one object on standard output, or one per "
        "line. A reader that closes the pipe, such as head, ends the tool quietly.\n\n"
        "A warning is printed, also with -q, if a filter does not keep its promised false-positive rate, for example "
        "because it holds more keys than its capacity. With --strict the exit code is then 1."},
};

constexpr std::array environment = {
    variable{"BLOOMERY_ISA", "instruction set to use, if the processor has it: scalar, sse2, avx2, avx512 or neon",
             on_all & ~on_help},
    variable{"LC_ALL, LC_CTYPE, LANG",
             "on a terminal, charts use more than ASCII if the first of these that is set names UTF-8",
             on_plan | on_info | on_demo | on_bench},
    variable{"NO_COLOR", "if set and not empty, no colours, unless --color is given",
             on_info | on_explain | on_plan | on_verify | on_doctor | on_kinds | on_formats | on_hashes | on_demo |
                 on_bench},
    variable{"TERM", "if dumb, no colours",
             on_info | on_explain | on_plan | on_verify | on_doctor | on_kinds | on_formats | on_hashes | on_demo |
                 on_bench},
    variable{"TMPDIR", "folder for temporary files (default /tmp)", on_demo | on_dedup},
};

constexpr std::array about_examples = {
    example{"bloomery build -o seen.bloom urls.txt", "a filter of the lines of urls.txt"},
    example{"bloomery query seen.bloom today.txt > probably-seen.txt", "the lines of today.txt that may be in it"},
    example{"bloomery query -v seen.bloom today.txt > definitely-new.txt", "the lines that are definitely not in it"},
};

constexpr tool_page about_page = {
    .summary = "membership filters",
    .intro =
        "Membership filters: compact sets that answer \"have I seen this key?\". A \"no\" is always correct; a "
        "\"maybe\" "
        "is wrong at the rate you choose.",
    .numbers = "Numbers may be written 1e9, 10M, 1Gi, 64KiB, 0.1% or 1/1000.",
    .topics = topics,
    .environment = environment,
    .examples = about_examples,
    .exit_codes = "0: yes or done; 1: no (nothing matched, verification failed), or a warning with --strict; 2: error",
};

}  // namespace

const tool_page& about_tool() { return about_page; }

}  // namespace bloomery::cli
