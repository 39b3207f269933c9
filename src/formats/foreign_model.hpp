// src/formats/foreign_model.hpp: what the models of other products' filters answer alike: no native file holds them.
#pragma once

#include <bloomery/filter_model.hpp>
#include <bloomery/formats.hpp>

namespace bloomery::inline BLOOMERY_ABI::formats {

class foreign_model : public bloomery::detail::filter_model {
 public:
  [[nodiscard]] const void* kind_object() const noexcept final { return this; }
  [[nodiscard]] result<void> save(const char* /*path*/, const hash_spec& /*hash*/,
                                  const save_options& /*options*/) const noexcept final {
    return fail(errc::unsupported, words_->not_native);
  }
  [[nodiscard]] result<void> save_to(const byte_sink& /*sink*/, const hash_spec& /*hash*/,
                                     const save_options& /*options*/) const noexcept final {
    return fail(errc::unsupported, words_->not_native);
  }
  // Of what looks up keys (formats::looks_up) and not digests alone.
  [[nodiscard]] virtual key_form looks_up() const noexcept { return key_form::digest; }
  virtual result<void> may_contain_keys(std::span<const std::string_view> /*keys*/,
                                        std::span<std::uint64_t> /*mask*/) const noexcept {
    return cannot("look up keys without digests");
  }
  [[nodiscard]] virtual result<explanation> explain_key(std::string_view /*key*/) const noexcept {
    return cannot("look up keys without digests");
  }
  [[nodiscard]] failure cannot(std::string_view what) const noexcept final {
    error_text text;
    text.append(words_->subject);
    text.append(" cannot ");
    text.append(what);
    return fail(errc::unsupported, text.view());
  }

 protected:
  struct words {
    std::string_view subject;     // "a filter of that product, which": what cannot do something
    std::string_view not_native;  // why it is not saved as a native file
  };
  explicit foreign_model(const words& wording) noexcept : words_(&wording) {}  // which must outlive the model

 private:
  const words* words_;
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats
