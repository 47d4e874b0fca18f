// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/oracle/named_problem.hpp"

#include <gmock/gmock.h>

#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::oracle {
namespace {

using ::testing::HasSubstr;

class named_problem : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(named_problem);

TEST_P(named_problem, named_problems_come_back_from_their_shapes) {
    const DeviceInfo info = device().usable_info();
    std::vector<std::string_view> names = named_set();
    for (const char* name : {"matmul m=8 n=12 k=16 batch=3 transposed=0 determinism=exact",
                             "perturbed_linear members=6 in=8 out=12 rank=4",
                             "perturbed_linear members=6 rows=2 in=8 out=12 shared_input=1 transposed=1",
                             "fitness population=6 episodes=3",
                             "es_update elements=35 population=8 rank=2 rows=5",
                             "es_update elements=35 population=8 output=sums",
                             "optimizer elements=11 rule=adam",
                             "block_inverse n=5 blocks=3 mode=symmetric",
                             "reduce outer=4 columns=9 inner=3 operation=argmax",
                             "softmax rows=6 columns=11 log=1",
                             "normalize rows=6 columns=11 rule=root_mean_square scale=per_member",
                             "elementwise extents=6-11 inputs=3,2 steps=add:0:1",
                             "elementwise extents=6-11 inputs=3,3 steps=not_equal_to:0:1",
                             "elementwise extents=6-11 inputs=2,3,3 numbers=1 steps=where:0:1:2,multiply:3:4",
                             "rearrange members=2 extents=3-4 source_elements=12",
                             "rearrange extents=4-5 source_elements=20 source_extents=4,2 starts=0,-1 steps=1,2 "
                             "strides=2,1 shared_source=1",
                             "cumulative_sum outer=4 columns=9 inner=3",
                             "convert count=77 from=bf16 to=f32",
                             "rearrange members=2 extents=7-5 source_elements=35 strides=1,7",
                             "concat outer=3 parts=5-0-6",
                             "concat members=2 inner=4 parts=5-3s",
                             "gather table_rows=9 columns=8 ids=5 shared_table=1",
                             "scatter target_rows=9 columns=8 ids=5 mode=add",
                             "matmul_i8 m=5 n=6 k=7 batch=2",
                             "perturbed_embedding members=4 table_rows=9 columns=8 pairs=0",
                             "perturbed_vector members=4 elements=9",
                             "inverse_sqrt n=9 blocks=2",
                             "noise elements=9 pairs=3 format=f32",
                             "covariance n=9 samples=5 blocks=2",
                             "natural_gradient n=9 blocks=2",
                             "kronecker_precondition n_out=5 n_in=4 factors=inverses",
                             "rollout widths=4-8-3-2 members=6 rank=2 pairs=0",
                             "rollout members=6 determinism=fast",
                             "rollout widths=4-2 recurrent=5 members=6",
                             "expected_improvement count=9",
                             "exact_math: exp"})
        names.emplace_back(name);
    for (const std::string_view name : names) {
        ASSERT_OK_AND_ASSIGN(const auto named, make_named_problem(name));
        const TuningSpace space = named->space(info);
        ASSERT_OK_AND_ASSIGN(const auto found, make_shape_problem(space.family(), space.shape()));
        EXPECT_EQ(found->space(info).shape(), space.shape()) << name;
        EXPECT_EQ(found->space(info).family(), space.family()) << name;
        EXPECT_EQ(found->default_configuration(info), named->default_configuration(info)) << name;
    }
}

// Whatever a plan may ask a table about, so that `yolk tune --job last` can tune it.
TEST_P(named_problem, every_familys_shapes_have_problems) {
    const DeviceInfo info = device().usable_info();
    for (const Family* family : families()) {
        if (family->name == std::string_view("exact_math")) continue;  // a proof, with no primitive behind it
        for (const auto& problem : family->cases(1)) {
            const TuningSpace space = problem->space(info);
            const Work work = problem->work();
            if (work.operations + work.bytes == 0.0) continue;
            const auto found = make_shape_problem(family->name, space.shape());
            EXPECT_TRUE(found) << problem->name() << ": " << (found ? "" : found.error().message);
        }
    }
}

// As files have them that were written before there were words.
TEST_P(named_problem, numbers_stand_for_the_words_in_their_order) {
    const DeviceInfo info = device().usable_info();
    constexpr std::array<std::pair<const char*, const char*>, 4> kPairs{
        {{"reduce outer=4 columns=9 operation=2", "reduce outer=4 columns=9 operation=max"},
         {"optimizer elements=11 rule=1", "optimizer elements=11 rule=momentum"},
         {"normalize rows=6 columns=11 rule=0 bias=2", "normalize rows=6 columns=11 rule=layer bias=per_member"},
         {"scatter target_rows=9 columns=8 ids=5 mode=0", "scatter target_rows=9 columns=8 ids=5 mode=assign"}}};
    for (const auto& [number, word] : kPairs) {
        ASSERT_OK_AND_ASSIGN(const auto by_number, make_named_problem(number));
        ASSERT_OK_AND_ASSIGN(const auto by_word, make_named_problem(word));
        EXPECT_EQ(by_number->space(info).shape(), by_word->space(info).shape()) << number;
    }
}

TEST_P(named_problem, what_names_say_wrongly_is_refused) {
    const auto refused = [](const char* name) {
        const auto named = make_named_problem(name);
        EXPECT_FALSE(named) << name;
        return named ? std::string() : named.error().message;
    };
    EXPECT_THAT(refused("softmax columns=4"), HasSubstr("needs rows"));
    EXPECT_THAT(refused("softmax rows=4 columns=4 log=2"), HasSubstr("log of [softmax] is 2; it is 0 or 1"));
    EXPECT_THAT(refused("softmax rows=4 columns=4 depth=2"), HasSubstr("it has members, rows, columns, log"));
    EXPECT_THAT(refused("convert count=4 from=f16 to=bf16"), HasSubstr("one of the two must be f32"));
    EXPECT_THAT(refused("normalize rows=4 columns=4 rule=root_mean_square bias=shared"), HasSubstr("a bias"));
    EXPECT_THAT(refused("optimizer elements=4 rule=3"),
                HasSubstr("rule of [optimizer] is 3; it is sgd, momentum or adam"));
    EXPECT_THAT(refused("reduce outer=4 columns=4 operation=least"),
                HasSubstr("operation of [reduce] is least; it is sum, mean"));
    EXPECT_THAT(refused("softmax rows=four columns=4"), HasSubstr("rows of [softmax] is four; it is a number"));
    EXPECT_THAT(refused("softmax rows= columns=4"), HasSubstr("'rows=' of 'softmax"));
    EXPECT_THAT(refused("exact_math rows=4"), HasSubstr("a benchmark can be named"));
    EXPECT_THAT(refused("chess: 64"), HasSubstr("no kernel 'chess'; there are block_inverse, byte_model, concat"));
    EXPECT_THAT(refused("sofmax rows=4 columns=4"), HasSubstr("Did you mean softmax?"));
    EXPECT_THAT(refused("softmax rows=4 colums=4"), HasSubstr("Did you mean columns?"));
    EXPECT_THAT(refused("softmax rows=4 rows=5 columns=4"), HasSubstr("gives rows twice, 4 and 5"));
    EXPECT_THAT(refused("matmul m=4 n=4 k=4 exact=1"), HasSubstr("matmul has no field 'exact'"));
    EXPECT_THAT(refused("matmul m=4 n=4 k=4 determinism=fats"), HasSubstr("is fats; it is exact or fast"));
    EXPECT_THAT(refused("matmul 64x64x64"), HasSubstr("is not name=value; matmul takes m n k"));
    EXPECT_THAT(refused("concat parts=3-x"), HasSubstr("parts of [concat] is 3-x; it is extents joined by -"));
    EXPECT_THAT(refused("concat parts=3-4s split=1"), HasSubstr("shared"));
    EXPECT_THAT(refused("rollout members=4 widths=4-0-2"), HasSubstr("width"));
    EXPECT_THAT(refused("rollout members=4 widths=5-8-2"), HasSubstr("4 observations"));
    EXPECT_THAT(refused("rollout members=4 recurrent=257"), HasSubstr("from 0 to 256"));
    EXPECT_THAT(refused("rollout members=4 environment=chess"), HasSubstr("environment of [rollout] is chess"));
    EXPECT_THAT(refused("es_update elements=35 population=8 rows=4"), HasSubstr("rows of [es_update] is 4"));
    EXPECT_THAT(refused("es_update population=7"), HasSubstr("odd"));
    EXPECT_THAT(refused("block_inverse n=2000 blocks=1"), HasSubstr("n of [block_inverse] is 2000"));
}

TEST_P(named_problem, other_variants_have_problems_too) {
    for (const auto& [family, variant, extents] :
         {std::tuple("perturbed_linear", "pairs=0", std::vector<std::uint64_t>{5, 2, 8, 8, 1}),
          std::tuple("perturbed_linear", "transposed=1 determinism=fast", std::vector<std::uint64_t>{5, 2, 8, 8, 1}),
          std::tuple("perturbed_linear", "weights_format=bf16 input_format=bf16 determinism=fast",
                     std::vector<std::uint64_t>{5, 2, 8, 8, 1}),
          std::tuple("es_update", "pairs=0", std::vector<std::uint64_t>{450, 65, 1}),
          std::tuple("fitness", "rule=centred-rank pairs=0", std::vector<std::uint64_t>{65, 1, 0}),
          std::tuple("rollout", "pairs=0", std::vector<std::uint64_t>{4, 8, 2, 65, 1, 1}),
          std::tuple("rollout", "determinism=fast", std::vector<std::uint64_t>{4, 8, 2, 64, 1, 1})}) {
        const auto found = make_shape_problem(family, {.variant = variant, .extents = extents});
        EXPECT_TRUE(found) << family << ": " << (found ? "" : found.error().message);
    }
}

// Shares take what was measured for the whole, and tables of before have no word for them.
TEST_P(named_problem, sums_have_the_key_of_the_gradient) {
    ASSERT_OK_AND_ASSIGN(const auto gradient, make_named_problem("es_update population=64"));
    ASSERT_OK_AND_ASSIGN(const auto sums, make_named_problem("es_update population=64 output=sums"));
    const DeviceInfo info = device().usable_info();
    EXPECT_EQ(sums->space(info).shape(), gradient->space(info).shape());
    EXPECT_EQ(sums->space(info).shape(), (TuningShape{.variant = "", .extents = {450, 64, 1}}));
    EXPECT_NE(sums->name(), gradient->name());
}

TEST_P(named_problem, what_has_none_is_told) {
    const auto refused = [&](const char* family, const char* variant, std::vector<std::uint64_t> extents) {
        const auto found = make_shape_problem(family, {.variant = variant, .extents = std::move(extents)});
        EXPECT_FALSE(found) << family;
        return found ? std::string() : found.error().message;
    };
    EXPECT_THAT(refused("rollout", "environment=chess own=1", {4, 8, 2, 64, 1, 1}), HasSubstr("environment"));
    EXPECT_THAT(refused("rollout", "own=1", {4, 8, 2, 64, 1, 1}), HasSubstr("cannot be given by text"));
    EXPECT_THAT(refused("exact_math", "f32", {3, 977}), HasSubstr("cannot be given"));
    EXPECT_THAT(refused("chess", "f32", {3}), HasSubstr("no kernel 'chess'"));
    EXPECT_THAT(refused("matmul", "fast f32 f32 f32", {8, 8, 8, 1}), HasSubstr("is not a shape of matmul"));
    EXPECT_THAT(refused("matmul", "", {8, 8}), HasSubstr("is not a shape of matmul"));
    // Another order of the same words, and a word that is the default: no key says so.
    EXPECT_THAT(refused("matmul", "determinism=exact a_transposed=1", {8, 8, 8, 1}), HasSubstr("not a shape"));
    EXPECT_THAT(refused("matmul", "determinism=fast", {8, 8, 8, 1}), HasSubstr("not a shape"));
    EXPECT_THAT(refused("reduce", "f32, operation 0", {std::uint64_t{1} << 40U, 8}), HasSubstr("reduce"));
    EXPECT_THAT(refused("es_update", "", {0, 8, 1}), HasSubstr("es_update"));
    EXPECT_THAT(refused("rollout", "", {}), HasSubstr("rollout"));
}

}  // namespace
}  // namespace yolk::oracle
