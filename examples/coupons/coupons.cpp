// Coupons that are redeemed once: a cuckoo filter holds the codes that are open, a database decides. See README.md.
#include <barrier>
#include <bloomery/guards/lookup_guard.hpp>
#include <thread>
#include <vector>

#include "examples/common/sqlite.hpp"

using namespace examples;

namespace {

// Codes that cannot be guessed: Feistel rounds make a permutation of 40 bits, written with 8 letters of 32. Open coupons have
// the first numbers, unknown codes the others.
std::string code(std::uint64_t number) {
  std::uint64_t left = number >> 20U;
  std::uint64_t right = number & 0xfffffU;
  for (std::uint64_t round = 1; round <= 4; ++round) {
    const std::uint64_t mixed = left ^ (random_numbers(right * 8 + round)() & 0xfffffU);
    left = right;
    right = mixed;
  }
  std::string out;
  for (std::uint64_t rest = left << 20U | right; out.size() < 8; rest >>= 5U) {
    out += "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"[rest & 31U];
  }
  return out;
}

enum class outcome { redeemed, unknown, failed };

// The filter that all clients of this process share.
class coupon_filter {
 public:
  explicit coupon_filter(std::uint64_t coupons)
      : guard_(must(bloomery::lookup_guard::make("cuckoo", {.keys = coupons, .fpr = 0.001}, bloomery::hasher{}))) {}

  // Filter first, then the table. A code that exists already is no new coupon.
  bloomery::result<bool> issue(sqlite& db, const std::string& code) {
    return guard_.put(code, [&] { return changed(db.run("INSERT OR IGNORE INTO coupons VALUES ($1, 0)", {code})); });
  }
  // Absent: there is no such open coupon, and no statement is sent. Maybe: one statement, which is a transaction, decides. Only
  // if it redeemed the coupon does the code leave the filter, and so once.
  outcome redeem(sqlite& db, const std::string& code, bloomery::error* why = nullptr) {
    if (!guard_.may_contain(code)) return outcome::unknown;
    const auto done = guard_.remove(code, [&] {
      return changed(db.run("UPDATE coupons SET redeemed = 1 WHERE code = $1 AND redeemed = 0", {code}));
    });
    if (!done && why != nullptr) *why = done.error();
    if (!done) return outcome::failed;
    return *done ? outcome::redeemed : outcome::unknown;
  }
  void rebuild(sqlite& db) {
    const auto open = [&](bloomery::guard_sink& sink) {
      return db.each("SELECT code FROM coupons WHERE redeemed = 0", {}, sink);
    };
    must(guard_.rebuild(open));
  }

  [[nodiscard]] bool maybe(const std::string& code) const { return guard_.may_contain(code); }
  [[nodiscard]] std::uint64_t bytes() const {
    return guard_.with_filter([](const bloomery::any_filter& filter) { return filter.allocated_bytes(); });
  }

 private:
  static bloomery::result<bool> changed(const bloomery::result<std::uint64_t>& rows) {
    if (!rows) return bloomery::fail(rows.error());
    return *rows != 0;
  }

  bloomery::lookup_guard guard_;
};

// How many of the codes with these numbers are redeemed now.
std::uint64_t redeem(sqlite& db, coupon_filter& coupons, std::uint64_t first, std::uint64_t count) {
  std::uint64_t done = 0;
  for (std::uint64_t i = first; i < first + count; ++i)
    done += coupons.redeem(db, code(i)) == outcome::redeemed ? 1U : 0U;
  return done;
}

std::uint64_t open_in_table(sqlite& db) {
  return std::stoull(must(db.first("SELECT count(*) FROM coupons WHERE redeemed = 0")).value_or("0"));
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  const std::uint64_t issued = std::max<std::uint64_t>(option(arguments, "--coupons", 30'000), 10'000);
  const std::uint64_t guesses = option(arguments, "--guesses", 100'000);
  const std::string path = text_option(arguments, "--folder", ".") + "/coupons.db";
  sqlite db(path, 5000);
  must(db.run("DROP TABLE IF EXISTS coupons"));
  must(db.run("CREATE TABLE coupons (code TEXT PRIMARY KEY, redeemed INTEGER NOT NULL)"));

  coupon_filter coupons(issued);
  must(db.run("BEGIN"));
  for (std::uint64_t i = 0; i < issued; ++i) must(coupons.issue(db, code(i)));
  const bool twice = must(coupons.issue(db, code(0)));  // takes no second place in the filter
  must(db.run("COMMIT"));
  std::printf("issued       %s coupons; cuckoo filter at 0.1 %%: %s KiB; the first once more: %s\n",
              grouped(issued).c_str(), grouped(coupons.bytes() / 1024).c_str(), twice ? "ISSUED" : "refused");

  // Somebody guesses. What the filter takes for coupons reaches the database, which knows better.
  std::uint64_t before = db.statements();
  const std::uint64_t lucky = redeem(db, coupons, issued, guesses);
  const std::uint64_t reached = db.statements() - before;
  std::uint64_t lost = 0;
  for (std::uint64_t i = 0; i < issued; ++i) lost += coupons.maybe(code(i)) ? 0U : 1U;
  std::printf("guessed      %s unknown codes: %s statements, %s saved (usual claim: 70 to 90 %%)\n",
              grouped(guesses).c_str(), grouped(reached).c_str(), percent(guesses - reached, guesses).c_str());
  std::printf("  harm       %s redeemed, %s other coupons lost from the filter\n", grouped(lucky).c_str(),
              grouped(lost).c_str());

  const std::uint64_t once = redeem(db, coupons, 0, 1000);
  before = db.statements();
  const std::uint64_t again = redeem(db, coupons, 0, 1000);
  std::printf("redeemed     1,000 coupons: %s; once more: %s, with %s statements\n", grouped(once).c_str(),
              grouped(again).c_str(), grouped(db.statements() - before).c_str());

  // Two clients, each with a connection of its own, come at the same moment with the same coupon; 500 times.
  std::uint64_t won[2] = {};
  std::barrier together(2);
  std::vector<std::thread> clients;
  for (std::uint64_t& each : won) {
    clients.emplace_back([&] {
      sqlite own(path, 20'000);
      for (std::uint64_t i = 1000; i < 1500; ++i) {
        together.arrive_and_wait();
        each += redeem(own, coupons, i, 1);
      }
    });
  }
  for (std::thread& each : clients) each.join();
  std::printf("two clients  500 coupons, both at once: %s and %s redeemed, %s in all\n", grouped(won[0]).c_str(),
              grouped(won[1]).c_str(), grouped(won[0] + won[1]).c_str());

  // A connection holds the database: the coupon stays open, in the table and in the filter.
  sqlite holder(path);
  sqlite impatient(path);
  for (const char* each : sqlite::lock_everything) must(holder.run(each));
  bloomery::error why;
  const bool failed = coupons.redeem(impatient, code(3000), &why) == outcome::failed;
  must(holder.run("ROLLBACK"));
  const bool then = coupons.redeem(db, code(3000)) == outcome::redeemed;
  std::printf("locked       %s; unlocked: %s\n", failed ? bloomery::describe(why).c_str() : "NO ERROR",
              then ? "redeemed" : "LOST");

  // The filter after all this, against one that is made anew from the table.
  coupon_filter anew(issued);
  anew.rebuild(db);
  std::uint64_t differ = 0;
  for (std::uint64_t i = 0; i < issued + guesses; ++i)
    differ += coupons.maybe(code(i)) != anew.maybe(code(i)) ? 1U : 0U;
  std::uint64_t kept = 0;
  must(db.each("SELECT code FROM coupons WHERE redeemed = 0", {},
               [&](std::string_view each) { kept += coupons.maybe(std::string(each)) ? 1U : 0U; }));
  std::printf("rebuilt      %s coupons are open, %s in the filter; a new one answers %s of %s codes differently\n",
              grouped(open_in_table(db)).c_str(), grouped(kept).c_str(), grouped(differ).c_str(),
              grouped(issued + guesses).c_str());
}
