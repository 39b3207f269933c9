// bloomery query: which lines may be in the filter.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/filters/open.hpp"
#include "cli/keys/digests.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

struct query_tally {
  std::uint64_t keys = 0;
  std::uint64_t present = 0;
};

// What to print of each line.
struct selection {
  explicit selection(const options& opts)
      : invert(opts.has(flag::invert)),
        mark(opts.has(flag::mark)),
        silent(opts.has(flag::quiet)),
        lines(!silent && !opts.has(flag::count) && !opts.has(flag::json)) {}
  bool invert;
  bool mark;
  bool silent;
  bool lines;

  [[nodiscard]] std::uint64_t selected(const query_tally& so_far) const {
    return invert ? so_far.keys - so_far.present : so_far.present;
  }
};

// Done by the threads: looks up the keys of a chunk, counts those that may be present and writes the lines to print.
void answer(const opened_filter& opened, const selection& what, char terminator, key_chunk& chunk) {
  chunk.mask.resize(mask_words(chunk.size()));
  const auto queried = look_up(opened.filter, chunk);
  if (!queried) return chunk.fail(fail_file(opened.name, queried.error()).value());
  if (const std::size_t rest = chunk.size() % 64; rest != 0) chunk.mask.back() &= ~(~std::uint64_t{0} << rest);
  for (const std::uint64_t word : chunk.mask) chunk.tally += static_cast<std::uint64_t>(std::popcount(word));
  if (!what.lines) return;
  const auto records = chunk.records();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const bool present = bit_of(chunk.mask, i);
    if (!what.mark && present == what.invert) continue;
    if (what.mark) chunk.text.append(present ? "1\t" : "0\t");
    chunk.text.append(records.text(i)).push_back(terminator);
  }
}

// The header of the first file stands above the lines, once.
void write_header(const key_reader& reader, const selection& what, output& out) {
  if (!reader.header()) return;
  if (what.mark) out.write("mark\t");
  out.write(*reader.header());
  out.write(reader.terminator());
}

outcome<query_tally> query_all(const options& opts, digest_stream& stream, output& out) {
  const selection what(opts);
  progress line(opts, "querying", stream.reader().total_bytes());
  query_tally so_far;
  bool header_due = what.lines;
  while (true) {
    const auto more = stream.next();
    if (more && std::exchange(header_due, false)) write_header(stream.reader(), what, out);
    if (!more) {
      // What was answered before the input broke stays answered.
      static_cast<void>(out.flush());
      return failed(more.error());
    }
    if (!*more) return so_far;
    so_far.keys += stream.size();
    so_far.present += stream.chunk().tally;
    out.write(stream.chunk().text);
    if (what.lines && stream.chunk().waited) {
      if (auto done = out.flush(); !done) return failed(done.error());
    }
    if (out.is_broken() || (what.silent && what.selected(so_far) != 0)) return so_far;
    line.update(stream.reader().bytes_taken(), so_far.keys);
  }
}

outcome<int> finish(const options& opts, const opened_filter& opened, const selection& what, const query_tally& counted,
                    output& out) {
  const std::uint64_t selected = what.selected(counted);
  if (opts.has(flag::json)) {
    out.write_json({{"filter", opened.name},
                    {"keys", counted.keys},
                    {"present", counted.present},
                    {"absent", counted.keys - counted.present}});
  } else if (opts.has(flag::count) && !opts.has(flag::quiet)) {
    out.write(fmt::format("{}\n", selected));
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return selected != 0 ? 0 : 1;
}

// A key of --row and --column, as a line.
struct named_cell {
  std::string text;
  key_chunk chunk;
};

outcome<void> take_cell(const options& opts, const opened_filter& opened, const hasher& hash, named_cell& cell) {
  const formats::key_form form = formats::looks_up(opened.filter);
  if (form == formats::key_form::digest) {
    return fail_usage("--row is for files of HBase: give the keys as lines");
  }
  const std::string row(opts.text(flag::row));
  const std::string column(opts.text(flag::column));
  if (form == formats::key_form::row_and_column && !opts.has(flag::column)) {
    return fail_usage("the filter is of Bloom type ROWCOL, which HBase asks for single columns alone: give --column");
  }
  if (opts.has(flag::column) && column.find(':') == std::string::npos && !opts.has(flag::hex)) {
    return fail_usage(fmt::format("--column: '{}' is not a column: give FAMILY:QUALIFIER", column));
  }
  cell.text = opts.has(flag::column) ? row + '\t' + column : row;
  const bool both = form == formats::key_form::row_and_column;
  const std::array words = {both ? cell.text : row};
  if (both && row.find('\t') != std::string::npos) {
    return fail_usage("--row: a tab separates row and column: give --hex and both in hexadecimal");
  }
  return key_reader::take_words(opts, words, hash, cell.chunk, form);
}

// One question, by --row and --column.
outcome<int> query_cell(const options& opts, const opened_filter& opened, const hasher& hash) {
  const selection what(opts);
  named_cell cell;
  if (auto taken = take_cell(opts, opened, hash, cell); !taken) return failed(taken.error());
  cell.chunk.mask.resize(1);
  if (const auto queried = look_up(opened.filter, cell.chunk); !queried) {
    return fail_file(opened.name, queried.error());
  }
  const query_tally tally{1, cell.chunk.mask[0] & 1U};
  output out;
  if (what.lines && (what.mark || (tally.present != 0) != what.invert)) {
    if (what.mark) out.write(tally.present != 0 ? "1\t" : "0\t");
    out.write(cell.text);
    out.write('\n');
  }
  return finish(opts, opened, what, tally, out);
}

outcome<int> run_query(const options& opts) {
  if (opts.operands().empty()) return fail_usage("give the filter: bloomery query FILE [KEYFILES]");
  if (opts.has(flag::mark) && opts.has(flag::invert)) {
    return fail_usage("--mark shows present and absent lines: leave -v out");
  }
  const std::string& path = opts.operands().front();
  const std::span<const std::string> files = std::span(opts.operands()).subspan(1);
  if (path == "-" && (files.empty() || std::find(files.begin(), files.end(), "-") != files.end())) {
    return fail_usage("the filter comes from standard input, so the keys cannot: name their files");
  }
  const auto opened = open_filter(opts, path);
  if (!opened) return failed(opened.error());
  const auto hash = hasher_of(opts, *opened);
  if (!hash) return failed(hash.error());
  if (opts.has(flag::column) && !opts.has(flag::row)) return fail_usage("--column is of a row: give --row, too");
  if (opts.has(flag::row)) {
    if (!files.empty() || opts.has(flag::fields)) {
      return fail_usage("--row is the key: leave the files of keys and -f out");
    }
    return query_cell(opts, *opened, *hash);
  }
  auto reader = key_reader::make(opts, files, *hash);
  if (!reader) return failed(reader.error());
  if (auto done = reader->use(formats::looks_up(opened->filter)); !done) return failed(done.error());
  if (selection(opts).lines) reader->require_same_header();
  const auto work = [&opened, what = selection(opts), terminator = reader->terminator()](key_chunk& chunk) {
    answer(*opened, what, terminator, chunk);
  };
  digest_stream stream(std::move(*reader), *hash, opened->filter.digest_bits(), work);
  output out;
  const auto counted = query_all(opts, stream, out);
  if (!counted) return failed(counted.error());
  return finish(opts, *opened, selection(opts), *counted, out);
}

constexpr std::array query_examples = {
    example{"bloomery query seen.bloom urls.txt", "the lines of urls.txt that may be in the filter"},
    example{"bloomery query -v seen.bloom < urls.txt", "the lines that are definitely not in it"},
    example{"echo alice | bloomery query -q users.bloom && echo maybe", "one key, by exit code"},
    example{"bloomery query -c --csv --header -f email users.bloom people.csv",
            "how many e-mail addresses may be in it"},
    example{"bloomery query --row user-4711 --column info:name 0a1b2c", "one column of a row in a store file of HBase"},
};

}  // namespace

const verb query_verb = {
    .name = "query",
    .alias = "check",
    .bit = on_query,
    .summary = "print the lines that may be in a filter",
    .usage = "[OPTIONS] FILE [KEYFILES]",
    .description =
        "Prints the lines whose keys may be in the filter FILE; with -v those that are definitely not. Keys are "
        "the lines of KEYFILES, or of standard input. Write them as they were written when the filter was "
        "built. With --header the header of the first file is printed first (with --mark after the word mark "
        "and a tab), and files with other columns are refused; -c, -q and --json print no lines, and -f finds "
        "its columns by name in each file.\n\n"
        "In a store file of HBase a key is a row; where its filter is of rows and columns, the first two fields, or "
        "those of -f, are row and FAMILY:QUALIFIER. --row and --column ask for one key.\n\n"
        "The filter is memory-mapped: a file of any size opens immediately. Each chunk is checked when it is "
        "first touched. Lines are printed in input order, whatever -j, and those from a slow pipe as soon as "
        "they arrive.",
    .examples = query_examples,
    .exit_codes = "0: at least one line was selected (with --mark: one that may be present); 1: none was; 2: error",
    .run = run_query,
};

}  // namespace bloomery::cli
