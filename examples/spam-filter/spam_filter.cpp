// Screens messages: a sender on the list is spam, and so is a message of which strictly more than 10 % of the words are on
// the list of spam words. The same class then screens phone numbers, IPs, domains and URLs. See README.md.
#include <sys/random.h>

#include <fstream>
#include <set>
#include <vector>

#include "examples/spam-filter/screened_list.hpp"

using namespace examples;

namespace {

constexpr std::uint64_t percent_of_words = 10;

// Listed are the names with numbers below the length of the list; so the truth is known without a set of them.
std::string word(std::uint64_t number) {
  char out[24];
  std::snprintf(out, sizeof out, "w%09lu", static_cast<unsigned long>(number));
  return out;
}
std::string sender(std::uint64_t number) {
  char out[48];
  std::snprintf(out, sizeof out, "user%010lu@mail%lu.example", static_cast<unsigned long>(number),
                static_cast<unsigned long>(number % 977));
  return out;
}

std::string write_list(const std::string& path, std::uint64_t lines, std::string (*name)(std::uint64_t)) {
  std::ofstream out(path, std::ios::trunc);
  for (std::uint64_t i = 0; i < lines; ++i) out << name(i) << '\n';
  if (!out.flush()) stop("cannot write " + path);
  return path;
}

bloomery::siphash13 secret_hash() {
  bloomery::siphash13 hash;
  if (getrandom(hash.key.data(), sizeof hash.key, 0) != sizeof hash.key) stop("there is no random key");
  return hash;
}

// Strictly more than 10 %: of 20 words, 2 are allowed.
bool is_spam_by_words(const screened_list<>& words, const std::vector<std::string>& message) {
  std::uint64_t listed = 0;
  for (const std::string& each : message) listed += words.maybe(each) ? 1U : 0U;
  return listed * 100 > message.size() * percent_of_words;
}

// What the rule says at its edge.
void show_threshold(const screened_list<>& words) {
  for (const auto& [size, listed] : {std::pair{10, 1}, {10, 2}, {11, 1}, {20, 2}, {20, 3}, {0, 0}}) {
    std::vector<std::string> message(static_cast<std::size_t>(size), "hello");
    for (int i = 0; i < listed; ++i) message[static_cast<std::size_t>(i)] = word(static_cast<std::uint64_t>(i));
    std::printf("%d words, %d listed: %s\n", size, listed, is_spam_by_words(words, message) ? "spam" : "passes");
  }
}

void screen_messages(screened_list<>& words, screened_list<>& senders, std::uint64_t listed_words,
                     std::uint64_t listed_senders, std::uint64_t messages) {
  random_numbers random(1);
  std::uint64_t by_sender = 0;
  std::uint64_t by_words = 0;
  std::uint64_t wrongly = 0;
  std::uint64_t missed = 0;
  std::vector<std::string> message;
  for (std::uint64_t i = 0; i < messages; ++i) {
    const bool known = random.below(5) == 0;
    const std::string from = sender(random.below(listed_senders) + (known ? 0 : listed_senders));
    const std::uint64_t size = 10 + random.below(90);
    const std::uint64_t spam_share = random.below(4) == 0 ? 20 : 3;
    std::uint64_t truly_listed = 0;
    message.clear();
    for (std::uint64_t w = 0; w < size; ++w) {
      const bool spam_word = random.below(100) < spam_share;
      truly_listed += spam_word ? 1U : 0U;
      message.push_back(word(random.below(listed_words) + (spam_word ? 0 : listed_words)));
    }
    const bool sender_is_listed = senders.listed(from);
    if (sender_is_listed != known) stop("a confirmed answer was wrong: " + from);
    const bool spam = is_spam_by_words(words, message);
    const bool truly_spam = truly_listed * 100 > size * percent_of_words;
    by_sender += sender_is_listed ? 1U : 0U;
    by_words += !sender_is_listed && spam ? 1U : 0U;
    wrongly += spam && !truly_spam ? 1U : 0U;
    missed += truly_spam && !spam ? 1U : 0U;
  }
  std::printf("messages     %s: %s spam by sender, %s by words\n", grouped(messages).c_str(),
              grouped(by_sender).c_str(), grouped(by_words).c_str());
  std::printf("  words      against exact lists: %s spam messages missed, %s of all judged spam wrongly\n",
              grouped(missed).c_str(), percent(wrongly, messages).c_str());
  const std::uint64_t absent = senders.asked - senders.confirmed + senders.false_positives;
  std::printf(
      "  senders    %s of the look-ups of unlisted ones needed no disk (usual claim: 70 to 90 %%); wrong maybes %s\n",
      percent(absent - senders.false_positives, absent).c_str(), percent(senders.false_positives, absent).c_str());
}

// The opponent has the list and this program, and so a filter of his own. He looks for unlisted names that cost us a look-up on
// disk each. Ours has the same list; with the same hash all of his names hit it, with a secret one no more than by chance.
void defend(const std::string& path, std::uint64_t lines, const screened_list<>& ours) {
  const screened_list<bloomery::mum2> his(path, lines, 0.01, {});
  const screened_list<bloomery::mum2> without_key(path, lines, 0.01, {});
  std::uint64_t found = 0;
  std::uint64_t hit_plain = 0;
  std::uint64_t hit_keyed = 0;
  for (std::uint64_t i = 3 * lines; found < 2000; ++i) {
    const std::string name = sender(i);
    if (!his.maybe(name)) continue;
    ++found;
    hit_plain += without_key.maybe(name) ? 1U : 0U;
    hit_keyed += ours.maybe(name) ? 1U : 0U;
  }
  std::printf("opponent     of %s names that he computed reach the disk: %s without a key, %s with one\n",
              grouped(found).c_str(), percent(hit_plain, found).c_str(), percent(hit_keyed, found).c_str());
}

// The same engine for other lists: what differs is how an entry is written.
std::string digits_of(std::string_view number) {
  std::string out;
  for (const char c : number) {
    if (c >= '0' && c <= '9') out += c;
  }
  return out;
}
std::string lower(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}
// A domain is listed with all below it: mail.Bad.example, bad.example, example.
bool domain_is_listed(screened_list<>& domains, std::string_view name) {
  for (std::string rest = lower(name); !rest.empty();) {
    if (domains.listed(rest)) return true;
    const std::size_t dot = rest.find('.');
    rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
  }
  return false;
}
// Scheme and host in lower case, no fragment.
std::string normal_url(std::string_view url) {
  url = url.substr(0, url.find('#'));
  const std::size_t scheme = url.find("://");
  const std::size_t host_end = url.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  std::string out = lower(url.substr(0, host_end));
  if (host_end != std::string_view::npos) out += url.substr(host_end);
  return out;
}

void screen_others(const std::string& folder, const bloomery::siphash13& hash) {
  const auto list = [&](const char* name, const std::set<std::string>& entries) {  // a set is sorted
    const std::string path = folder + "/" + name;
    std::ofstream out(path, std::ios::trunc);
    for (const std::string& each : entries) out << each << '\n';
    if (!out.flush()) stop("cannot write " + path);
    out.close();
    return screened_list<>(path, entries.size(), 0.001, hash);
  };
  const auto print = [](const char* what, const char* entry, bool listed) {
    std::printf("  %-10s %-34s %s\n", what, entry, listed ? "listed" : "-");
  };
  auto phones = list("phones.txt", {"12025550100", "12025550199", "442079460000"});
  auto addresses = list("addresses.txt", {"192.0.2.7", "198.51.100.23", "2001:db8::7"});
  auto domains = list("domains.txt", {"bad.example", "phish.example.org"});
  auto urls = list("urls.txt", {"https://files.example/a?id=7", "https://shop.example/Win"});
  std::printf("other lists\n");
  for (const char* each : {"+1 (202) 555-0199", "+1 (202) 555-0101"})
    print("phone", each, phones.listed(digits_of(each)));
  for (const char* each : {"198.51.100.23", "198.51.100.24"}) print("address", each, addresses.listed(each));
  for (const char* each : {"Mail.Bad.example", "notbad.example"})
    print("domain", each, domain_is_listed(domains, each));
  for (const char* each : {"HTTPS://Shop.example/Win#now", "https://shop.example/win"})
    print("URL", each, urls.listed(normal_url(each)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  const std::uint64_t words = option(arguments, "--words", 100'000);
  const std::uint64_t senders = option(arguments, "--senders", 200'000);
  const std::string folder = text_option(arguments, "--folder", ".");
  const bool threshold_only = flag(arguments, "--threshold");
  const bloomery::siphash13 hash = threshold_only ? bloomery::siphash13{} : secret_hash();

  screened_list<> word_list(write_list(folder + "/words.txt", words, word), words, 0.001, hash);
  if (threshold_only) {
    show_threshold(word_list);
    return 0;
  }
  screened_list<> sender_list(write_list(folder + "/senders.txt", senders, sender), senders, 0.01, hash);
  std::printf("words        %s listed at 0.1 %%: %s in memory, %s on disk\n", grouped(words).c_str(),
              mebibytes(word_list.memory_bytes()).c_str(), mebibytes(word_list.file_bytes()).c_str());
  std::printf("senders      %s listed at 1 %%: %s in memory, %s on disk\n", grouped(senders).c_str(),
              mebibytes(sender_list.memory_bytes()).c_str(), mebibytes(sender_list.file_bytes()).c_str());
  screen_messages(word_list, sender_list, words, senders, option(arguments, "--messages", 10'000));
  defend(folder + "/senders.txt", senders, sender_list);
  screen_others(folder, hash);
}
