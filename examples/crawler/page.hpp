// Fetching a page, finding its links, and writing each URL in one way (libcurl).
#pragma once

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/common/example.hpp"

namespace examples {

// Parameters that choose no page.
inline bool is_noise(std::string_view parameter) {
  return parameter.empty() || parameter.starts_with("session=") || parameter.starts_with("utm_");
}

// The one way in which a link of a page is written: absolute, without dots, fragment and default port, the host in lower case, the
// parameters that count in order. Nothing: no link for a crawler.
inline std::optional<std::string> canonical(const std::string& base, const std::string& link) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK) return std::nullopt;
  if (!link.empty() && curl_url_set(url.get(), CURLUPART_URL, link.c_str(), 0) != CURLUE_OK) return std::nullopt;
  const auto part = [&](CURLUPart which, unsigned flags = 0) {
    char* text = nullptr;
    std::string out;
    if (curl_url_get(url.get(), which, &text, flags) == CURLUE_OK) out = text;
    curl_free(text);
    return out;
  };
  const std::string scheme = part(CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return std::nullopt;
  std::string host = part(CURLUPART_HOST);
  std::transform(host.begin(), host.end(), host.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::string port = part(CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  std::string out = scheme + "://" + host + (port.empty() ? "" : ":" + port) + part(CURLUPART_PATH);

  std::vector<std::string> parameters;
  const std::string query = part(CURLUPART_QUERY);
  for (std::size_t from = 0; from < query.size();) {
    const std::size_t to = std::min(query.find('&', from), query.size());
    if (!is_noise(std::string_view(query).substr(from, to - from))) parameters.push_back(query.substr(from, to - from));
    from = to + 1;
  }
  std::sort(parameters.begin(), parameters.end());
  for (std::size_t i = 0; i < parameters.size(); ++i) out += (i == 0 ? '?' : '&') + parameters[i];
  if (out.size() > 2000) return std::nullopt;
  return out;
}

// One connection to the server, for one thread.
class fetcher {
 public:
  explicit fetcher(const std::string& socket) : curl_(curl_easy_init(), curl_easy_cleanup) {
    curl_easy_setopt(curl_.get(), CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
    curl_easy_setopt(curl_.get(), CURLOPT_WRITEFUNCTION, &fetcher::take);
    curl_easy_setopt(curl_.get(), CURLOPT_WRITEDATA, &body_);
    curl_easy_setopt(curl_.get(), CURLOPT_TIMEOUT, 20L);
    curl_easy_setopt(curl_.get(), CURLOPT_NOSIGNAL, 1L);
  }

  // The links of the page, as they are written there. A redirect is a page with one link. Nothing: it could not be fetched.
  std::optional<std::vector<std::string>> operator()(const std::string& url) {
    body_.clear();
    curl_easy_setopt(curl_.get(), CURLOPT_URL, url.c_str());
    if (curl_easy_perform(curl_.get()) != CURLE_OK) return std::nullopt;
    long status = 0;
    char* elsewhere = nullptr;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl_.get(), CURLINFO_REDIRECT_URL, &elsewhere);
    if (elsewhere != nullptr) return std::vector<std::string>{elsewhere};
    if (status >= 500) return std::nullopt;
    std::vector<std::string> out;
    constexpr std::string_view mark = "href=\"";
    for (std::size_t at = body_.find(mark); at != std::string::npos; at = body_.find(mark, at)) {
      at += mark.size();
      const std::size_t end = body_.find('"', at);
      if (end == std::string::npos) break;
      std::string link = body_.substr(at, end - at);
      for (std::size_t amp = 0; (amp = link.find("&amp;", amp)) != std::string::npos;) link.erase(++amp, 4);
      out.push_back(std::move(link));
    }
    return out;
  }

 private:
  static constexpr std::size_t most_bytes = 8U << 20U;

  // Less than it was given: curl ends the transfer.
  static std::size_t take(const char* bytes, std::size_t one, std::size_t count, void* to) {
    auto& body = *static_cast<std::string*>(to);
    if (body.size() + count > most_bytes) return 0;
    body.append(bytes, count * one);
    return count;
  }

  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
  std::string body_;
};

}  // namespace examples
