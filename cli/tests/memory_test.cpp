// SPDX-License-Identifier: Apache-2.0
// More memory than there is: one error that says how much, on standard error, and no signal.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class memory : public InFolder {
   protected:
    static void expect_refused(const Ran& ran, const std::string& part) {
        EXPECT_EQ(ran.code, 1) << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, StartsWith("yolk: error: "));
        EXPECT_THAT(ran.err, HasSubstr(part));
        EXPECT_THAT(ran.err, HasSubstr("are left"));
    }
};

TEST_F(memory, of_shapes_is_summed_before_they_are_made) {
    expect_refused(
        run_command({"bench", "kernel", "--shape", "reduce outer=4000000 columns=1000000", "--json"}, only(kLavapipe)),
        "needed for the inputs and outputs of");
    expect_refused(run_command({"bench", "step", "--count", "65536", "--size", "1024", "--json"}, only(kLavapipe)),
                   "needed for 65536 blocks of 1024x1024");
}

TEST_F(memory, of_shapes_to_tune_is_an_error_of_each) {
    write_text(folder_ / "shapes", "softmax rows=4000000 columns=1000000\nreduce outer=4000000 columns=1000000\n");
    const Ran ran =
        run_command({"tune", "--shapes", (folder_ / "shapes").string(), "--json", "--seconds", "20"}, only(kLavapipe));
    EXPECT_EQ(ran.code, 1) << ran.err;
    const Json outcome = ran.last();
    for (const Json& shape : outcome["shapes"])
        EXPECT_THAT(shape["error"].get<std::string>(), HasSubstr("Host memory is too small"));
}

// Sanitizers keep terabytes of address space of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/// Of this process and what it starts, as `ulimit -v` sets it.
class AddressSpace {
   public:
    explicit AddressSpace(std::uint64_t kibibytes) {
        ::getrlimit(RLIMIT_AS, &before_);
        rlimit narrow = before_;
        narrow.rlim_cur = kibibytes * 1024;
        ::setrlimit(RLIMIT_AS, &narrow);
    }
    ~AddressSpace() { ::setrlimit(RLIMIT_AS, &before_); }
    AddressSpace(const AddressSpace&) = delete;
    AddressSpace& operator=(const AddressSpace&) = delete;

   private:
    rlimit before_{};
};

TEST_F(memory, of_an_address_space_that_is_too_small_ends_without_a_signal) {
    struct Case {
        const char* driver;
        const char* population;
        std::uint64_t kibibytes;
    };
    // lavapipe needs 400 MB, and took 900 where each of its threads had an arena of its own.
    for (const Case& c : {Case{kLavapipe, "1048576", 600'000}, Case{kLavapipe, "64", 350'000},
                          Case{kLavapipe, "64", 450'000}, Case{kSwiftShader, "64", 600'000}}) {
        const AddressSpace narrow(c.kibibytes);
        const Ran ran = run_command({"train", "cartpole", "--population", c.population, "--generations", "1",
                                     "--max-steps", "4", "--json", "--out", (folder_ / "out").string()},
                                    only(c.driver));
        EXPECT_TRUE(ran.code == 0 || ran.code == 1) << c.driver << ' ' << c.kibibytes << ": " << ran.code << ran.err;
        EXPECT_TRUE(ran.code == 0 || ran.err.find("are left") != std::string::npos) << ran.err;
    }
}

// Inputs and outputs of 100 MB, which fit, and a proof whose copies do not: the process was killed on the way.
TEST_F(memory, of_a_proof_is_summed_with_its_copies) {
    const std::string shape = "matmul m=5000 n=5000 k=1";
    const std::string part = "needed for the inputs and outputs of " + shape;
    write_text(folder_ / "shapes", shape + "\n");
    const AddressSpace narrow(2'000'000);
    expect_refused(run_command({"bench", "kernel", "--shape", shape, "--json"}, only(kLavapipe)), part);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"check", "--shape", shape}, {"tune", "--shapes", (folder_ / "shapes").string()}}) {
        std::vector<std::string> with_json = command;
        with_json.emplace_back("--json");
        const Ran ran = run_command(with_json, only(kLavapipe));
        EXPECT_EQ(ran.code, 1) << ran.err;
        EXPECT_THAT(ran.out, HasSubstr(part));
    }
}

#endif

}  // namespace
}  // namespace yolk::cli
