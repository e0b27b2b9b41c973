// The command line of a step's executable: what it understands, and what it says of the rest.

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "common/harness/cli.h"
#include "tests/cpp/refusal.h"

namespace {

std::optional<Options> parsed(const std::string& line) {
  std::vector<std::string> words = {"07_step"};
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word == "''" ? "" : word);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

std::string refused(const std::string& line) {
  return refusal([&] { parsed(line); });
}

TEST(CommandLine, TakesEveryOption) {
  const Options options = *parsed(
      "--m 3 --n 4 --k 5 --lda 6 --ldb 7 --ldc 8 --variant all --alpha -0.5 --beta 2 --warmup 0 --min-time 0 --rounds "
      "1 "
      "--baseline none --verify sample --json x.jsonl --seed 9 --show-matrix --cooldown 1.5 --swizzle-stride 2048 "
      "--sim --trace t.json "
      "--list --fingerprint");
  ASSERT_EQ(options.shapes.size(), 1u);
  EXPECT_EQ(options.shapes[0].m, 3);
  EXPECT_EQ(options.shapes[0].n, 4);
  EXPECT_EQ(options.shapes[0].k, 5);
  EXPECT_EQ(options.leading.a, 6);
  EXPECT_EQ(options.leading.b, 7);
  EXPECT_EQ(options.leading.c, 8);
  EXPECT_EQ(options.variants, std::vector<std::string>{"all"});
  EXPECT_EQ(options.alpha, -0.5f);
  EXPECT_EQ(options.beta, 2.0f);
  EXPECT_EQ(options.timing.warmup, 0);
  EXPECT_EQ(options.timing.min_seconds, 0.0);
  EXPECT_TRUE(options.min_time_given);
  EXPECT_EQ(options.timing.rounds, 1);
  EXPECT_EQ(options.baseline, BaselineChoice::none);
  EXPECT_EQ(options.verify, VerifyMode::sample);
  EXPECT_EQ(options.json, "x.jsonl");
  EXPECT_EQ(options.trace, "t.json");
  EXPECT_EQ(options.seed, 9u);
  EXPECT_EQ(options.cooldown_seconds, 1.5);
  EXPECT_EQ(options.swizzle_strides, std::vector{2048});
  EXPECT_TRUE(options.show_matrix && options.simulate && options.list && options.fingerprint);
}

TEST(CommandLine, TakesSeveralSquareSizes) {
  const Options options = *parsed("--size 64 2147483647 1");
  ASSERT_EQ(options.shapes.size(), 3u);
  EXPECT_EQ(options.shapes[1].m, 2147483647);
  EXPECT_EQ(options.shapes[2].k, 1);
}

TEST(CommandLine, TakesTheEdgesOfEveryRange) {
  EXPECT_EQ(parsed("--seed 0")->seed, 0u);
  EXPECT_EQ(parsed("--seed 2147483647")->seed, 2147483647u);
  EXPECT_EQ(parsed("--swizzle-stride 1,2147483647")->swizzle_strides, (std::vector{1, 2147483647}));
  EXPECT_EQ(parsed("--min-time 60 --cooldown 60")->timing.min_seconds, 60);
  EXPECT_EQ(parsed("--warmup 1000 --rounds 1000")->timing.rounds, 1000);
  EXPECT_EQ(parsed("--alpha 3.4028234e38 --beta -1e-45")->alpha, std::numeric_limits<float>::max());
  EXPECT_EQ(parsed("--m 2147483647 --n 1 --k 1 --lda 2147483647")->leading.a, 2147483647);
}

TEST(CommandLine, SharesOutASweepsSizesInParts) {
  std::size_t together = 0;
  for (const char* part : {"1/4", "2/4", "3/4", "4/4"})
    together += parsed("--sweep hgemm125 --part " + std::string(part))->shapes.size();
  EXPECT_EQ(together, 125u);
  const std::vector<Shape> second = parsed("--sweep square --part 2/3")->shapes;
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0].m, 2048);
  EXPECT_EQ(second[1].m, 16384);
}

constexpr char COUNT[] = " is not a whole number from 1 to 2147483647",
               FROM_ZERO[] = " is not a whole number from 0 to 2147483647",
               FEW[] = " is not a whole number from 0 to 1000", SECONDS[] = " is not a number of seconds from 0 to 60",
               FINITE[] = " is not a finite number", PART[] = " is not a part such as 2/4", NAME[] = " is not a name";

struct BadValue {
  const char *line, *value, *range;
};

TEST(CommandLine, RefusesABadValueWithItsOptionAndItsRange) {
  for (const auto& [line, value, range] : {
           BadValue{"--size 0", "--size: '0'", COUNT},
           {"--size 2147483648", "--size: '2147483648'", COUNT},
           {"--size 99999999999999999999", "--size: '99999999999999999999'", COUNT},
           {"--size 64 1e3", "--size: '1e3'", COUNT},
           {"--size 010", "--size: '010'", COUNT},
           {"--k 12x", "--k: '12x'", COUNT},
           {"--lda 0", "--lda: '0'", COUNT},
           {"--ldb -1", "--ldb: '-1'", COUNT},
           {"--ldc x", "--ldc: 'x'", COUNT},
           {"--swizzle-stride 0", "--swizzle-stride: '0'", COUNT},
           {"--swizzle-stride 512,x", "--swizzle-stride: 'x'", COUNT},
           {"--seed -1", "--seed: '-1'", FROM_ZERO},
           {"--seed 2147483648", "--seed: '2147483648'", FROM_ZERO},
           {"--warmup 1001", "--warmup: '1001'", FEW},
           {"--rounds 0", "--rounds: '0'", " is not a whole number from 1 to 1000"},
           {"--min-time 60.1", "--min-time: '60.1'", SECONDS},
           {"--min-time nan", "--min-time: 'nan'", SECONDS},
           {"--cooldown -0.1", "--cooldown: '-0.1'", SECONDS},
           {"--alpha nan", "--alpha: 'nan'", FINITE},
           {"--alpha 1e39", "--alpha: '1e39'", FINITE},
           {"--beta two", "--beta: 'two'", FINITE},
           {"--sweep square --part 3/2", "--part: '3/2'", PART},
           {"--sweep square --part 0/2", "--part: '0/2'", PART},
           {"--sweep square --part 2", "--part: '2'", PART},
           {"--variant ''", "--variant: ''", NAME},
           {"--sweep cube", "--sweep: 'cube'", " is not one of square, sgemm27, hgemm125, hgemm27"},
           {"--verify maybe", "--verify: 'maybe'", " is not one of full, off, sample"},
       })
    EXPECT_EQ(refused(line), value + std::string(range) + "; --help lists the options");
}

struct Refusal {
  const char *line, *words;
};

TEST(CommandLine, RefusesWhatDoesNotGoTogether) {
  for (const auto& [line, words] : {
           Refusal{"--nope", "The following argument was not expected: --nope; --help lists the options"},
           {"1024", "The following argument was not expected: 1024; --help lists the options"},
           {"--size", "--size needs a value; --help lists the options"},
           {"--check x.jsonl --seed 1", "--check excludes --seed; its file names the options of each case"},
           {"--m 5", "--m, --n and --k go together; or use --size"},
           {"--n 5 --k 6", "--m, --n and --k go together; or use --size"},
           {"--size 64 --m 5", "--size excludes --m; --help lists the options"},
           {"--size 64 --sweep square", "--size excludes --sweep; --help lists the options"},
           {"--sweep square --part 6/6", "--part 6/6 is empty: the sweep has only 5 sizes"},
           {"--part 1/2", "--part requires --sweep; --help lists the options"},
           {"--verify off --json x.jsonl", "--json records only what was verified; leave out --verify off"},
       })
    EXPECT_EQ(refused(line), words);
}

}  // namespace
