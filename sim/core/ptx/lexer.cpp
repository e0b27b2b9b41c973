#include "core/ptx/lexer.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace sim::ptx {
namespace {

bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_word(char c) { return starts_word(c) || is_digit(c); }

}  // namespace

Token Lexer::take() {
  Token taken = token_;
  advance();
  return taken;
}

bool Lexer::accept(char c) {
  if (!token_.is(c)) return false;
  advance();
  return true;
}

void Lexer::expect(char c) {
  if (!accept(c)) fail(std::string("expected '") + c + "'");
}

void Lexer::skip_block() {
  if (!token_.is('{')) fail("expected '{'");
  int depth = 1;
  while (depth > 0) {
    const auto matters = [](char c) { return c == '\n' || c == '{' || c == '}' || c == '"' || c == '/'; };
    while (at_ < text_.size() && !matters(text_[at_])) ++at_;
    skip_blanks();  // comments, and lines that are to be counted
    if (at_ >= text_.size()) {
      advance();
      fail("the text ends too early");
    }
    const char c = text_[at_++];
    depth += (c == '{') - (c == '}');
    if (c == '"') at_ = std::min(text_.find('"', at_), text_.size() - 1) + 1;
  }
  advance();
}

uint32_t Lexer::column(const Token& token) const {
  const char* const at = token.text.data();
  if (at < text_.data() || at > text_.data() + text_.size()) return 0;
  const auto offset = static_cast<size_t>(at - text_.data());
  const size_t begins = offset == 0 ? 0 : text_.rfind('\n', offset - 1) + 1;  // npos + 1 is 0
  return static_cast<uint32_t>(offset - begins + 1);
}

std::string Lexer::place(const Token& token) const { return place_in_text(token.line, column(token)); }

void Lexer::fail(std::string_view what) const {
  const std::string found =
      token_.kind == Token::Kind::end ? "the end" : "'" + std::string(token_.text.substr(0, 60)) + "'";
  throw Refused(place(token_) + ": " + std::string(what) + ", found " + found);
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (c == '\n') {
      ++line_, ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '/' && next == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '/' && next == '*') {
      const size_t close = text_.find("*/", at_ + 2);
      const size_t end = close == std::string_view::npos ? text_.size() : close + 2;
      for (; at_ < end; ++at_) line_ += text_[at_] == '\n';
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blanks();
  token_ = Token{.line = line_};
  if (at_ >= text_.size()) {
    token_.text = text_.substr(text_.size());
    return;
  }

  const size_t start = at_;
  const char c = text_[at_];
  // A word runs on over dots and double colons: `ld.global.nc.f32`, `%tid.x`, `.shared::cta`.
  const auto word = [&] {
    while (at_ < text_.size()) {
      const char here = text_[at_];
      const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (continues_word(here))
        ++at_;
      else if (here == '.' && continues_word(next))
        ++at_;
      else if (here == ':' && next == ':')
        at_ += 2;
      else
        break;
    }
  };

  if (starts_word(c)) {
    word();
    token_.kind = Token::Kind::word;
  } else if (c == '.') {
    ++at_;
    word();
    token_.kind = Token::Kind::directive;
  } else if (is_digit(c)) {
    number();
  } else if (c == '"') {
    const size_t close = text_.find('"', at_ + 1);
    if (close == std::string_view::npos) fail("a string that does not end");
    token_.kind = Token::Kind::string;
    token_.text = text_.substr(start + 1, close - start - 1);
    at_ = close + 1;
    return;
  } else {
    ++at_;
    token_.kind = Token::Kind::punctuation;
  }
  token_.text = text_.substr(start, at_ - start);
}

void Lexer::number() {
  const size_t start = at_;
  while (at_ < text_.size() && continues_word(text_[at_])) ++at_;
  std::string_view digits = text_.substr(start, at_ - start);
  token_.text = digits;
  token_.kind = Token::Kind::integer;

  int base = 10;
  size_t exact = 0;  // digits that a floating-point bit pattern must have
  if (digits.size() > 1 && digits[0] == '0') {
    const char mark = digits[1];
    if (mark == 'x' || mark == 'X')
      base = 16;
    else if (mark == 'b' || mark == 'B')
      base = 2;
    else if (mark == 'f' || mark == 'F')
      base = 16, exact = 8, token_.kind = Token::Kind::float32;
    else if (mark == 'd' || mark == 'D')
      base = 16, exact = 16, token_.kind = Token::Kind::float64;
    else
      base = 8;
    digits.remove_prefix(base == 8 ? 1 : 2);
  }
  if (token_.kind == Token::Kind::integer && !digits.empty() && digits.back() == 'U') digits.remove_suffix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token_.value, base);
  if (error != std::errc{} || end != digits.data() + digits.size() || (exact && digits.size() != exact)) {
    fail("a number that cannot be read");
  }
}

}  // namespace sim::ptx
