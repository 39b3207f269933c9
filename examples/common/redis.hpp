// Redis through hiredis, as far as the examples need it: commands, and replies or errors. A connection that failed is closed;
// the next command makes a new one. One thread at a time.
#pragma once

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/common/example.hpp"

namespace examples {

class redis {
 public:
  struct reply {
    std::optional<std::string> text;  // nothing: there is no such value
    long long integer = 0;
    std::vector<std::string> list{};
  };

  // The socket of a server: what `run` started.
  explicit redis(std::string socket) : socket_(std::move(socket)) {}

  bloomery::result<reply> operator()(std::initializer_list<std::string_view> words) {
    if (connection_ == nullptr) {
      connection_.reset(redisConnectUnixWithTimeout(socket_.c_str(), patience));
      if (connection_ == nullptr || connection_->err != 0) return gone();
      redisSetTimeout(connection_.get(), patience);
    }
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string_view word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    const std::unique_ptr<redisReply, release> got(static_cast<redisReply*>(
        redisCommandArgv(connection_.get(), static_cast<int>(words.size()), texts.data(), sizes.data())));
    ++commands_;
    if (got == nullptr) return gone();
    if (got->type == REDIS_REPLY_ERROR) return bloomery::fail(bloomery::errc::io, {got->str, got->len});
    reply out;
    if (got->type == REDIS_REPLY_STRING || got->type == REDIS_REPLY_STATUS) out.text.emplace(got->str, got->len);
    for (std::size_t i = 0; got->type == REDIS_REPLY_ARRAY && i < got->elements; ++i) {
      if (got->element[i]->type == REDIS_REPLY_STRING)
        out.list.emplace_back(got->element[i]->str, got->element[i]->len);
    }
    if (got->type == REDIS_REPLY_INTEGER) out.integer = got->integer;
    return out;
  }

  [[nodiscard]] std::uint64_t commands() const { return commands_; }

 private:
  static constexpr timeval patience{.tv_sec = 2, .tv_usec = 0};

  bloomery::failure gone() {
    const std::string why = connection_ == nullptr ? "no memory" : connection_->errstr;
    connection_.reset();
    return bloomery::fail(bloomery::errc::io, "Redis is not there: " + why);
  }

  struct release {
    void operator()(redisContext* connection) const { redisFree(connection); }
    void operator()(redisReply* answer) const { freeReplyObject(answer); }
  };

  std::string socket_;
  std::unique_ptr<redisContext, release> connection_;
  std::uint64_t commands_ = 0;
};

}  // namespace examples
