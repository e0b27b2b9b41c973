/// PTX text to tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/ptx/error.h"

namespace sim::ptx {

struct Token {
  enum class Kind : uint8_t { end, word, directive, integer, float32, float64, string, punctuation };
  Kind kind = Kind::end;
  std::string_view text = {};  ///< as written; a string without its quotes
  uint64_t value = 0;          ///< of a number: its bits
  uint32_t line = 0;

  bool is(char c) const { return kind == Kind::punctuation && text[0] == c; }
  bool is(std::string_view s) const { return (kind == Kind::word || kind == Kind::directive) && text == s; }
};

/// One token of look-ahead over a text that must outlive it.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { advance(); }

  const Token& peek() const { return token_; }
  Token take();
  bool accept(char c);
  void expect(char c);
  void skip_block();  ///< from the '{' that is next to the token behind its '}', without looking at what is between
  std::string place(const Token& token) const;  ///< "PTX line 12, column 5"
  uint32_t column(const Token& token) const;    ///< from 1 on; 0 of a token that stands in no text
  [[noreturn]] void fail(std::string_view what) const;

 private:
  void advance();
  void skip_blanks();
  void number();

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  Token token_;
};

}  // namespace sim::ptx
