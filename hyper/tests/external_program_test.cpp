// SPDX-License-Identifier: Apache-2.0
#include "yolk/external_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "fixtures.hpp"
#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

using namespace std::chrono_literals;

Program shell(const std::string& script) { return {.command = {"/bin/sh", "-c", script}}; }

/// The answer of a run that must succeed.
Result<Value> answer_of(const Program& program, std::string_view input = "") {
    YOLK_TRY(const ProgramRun run, run_program(program, input));
    return program_answer(program, run);
}

std::string written_text(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Gone, or dead and waiting for whoever adopted it.
bool is_gone(const std::string& id) {
    const std::string stat = written_text("/proc/" + id + "/stat");
    const std::size_t name_end = stat.rfind(')');
    return name_end == std::string::npos || stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X';
}

std::size_t entries(const char* folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

class external_program : public ::testing::Test {
   protected:
    external_program() {
        folder_ =
            std::filesystem::temp_directory_path() / ("yolk-program-" + std::to_string(::getpid()) + "-" +
                                                      ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::create_directories(folder_);
    }
    ~external_program() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

   private:
    std::filesystem::path folder_;
};

TEST_F(external_program, the_answer_is_the_last_line_that_is_not_blank) {
    EXPECT_EQ(answer_of(shell("echo noise; echo 2.5; echo; echo '  '")).value(), Value(2.5));
    EXPECT_EQ(answer_of(shell("printf true")).value(), Value(true));
    EXPECT_EQ(answer_of(shell("echo '\"a text\"'")).value(), Value("a text"));
    EXPECT_EQ(answer_of(shell("echo '[[1, 2], [3, 4]]'")).value(),
              Value(Tensor::create(Shape{2, 2}, {1, 2, 3, 4}).value()));
}

TEST_F(external_program, the_answer_is_all_text_or_the_status) {
    Program program = shell("echo one; echo two; exit 3");
    EXPECT_TRUE(testing::expect_error(answer_of(program), ErrorKind::BadInput, "ended with status 3"));
    program.any_status = true;
    program.answer = ProgramAnswer::WholeText;
    EXPECT_EQ(answer_of(program).value(), Value("one\ntwo"));
    program.answer = ProgramAnswer::ExitStatus;
    EXPECT_EQ(answer_of(program).value(), Value(3));
    program.answer = ProgramAnswer::Success;
    EXPECT_EQ(answer_of(program).value(), Value(0));
    program.command.back() = "kill -USR1 $$";
    program.answer = ProgramAnswer::ExitStatus;
    EXPECT_EQ(answer_of(program).value(), Value(128 + SIGUSR1));
    program.command.back() = "true";
    program.answer = ProgramAnswer::Success;
    EXPECT_EQ(answer_of(program).value(), Value(1));
}

TEST_F(external_program, garbage_is_an_error_that_quotes_it) {
    const auto garbage = answer_of(shell("echo 12 of 13 passed; echo careful >&2"));
    EXPECT_TRUE(testing::expect_error(garbage, ErrorKind::BadInput, "printed '12 of 13 passed'"));
    EXPECT_TRUE(testing::expect_error(garbage, ErrorKind::BadInput, "Its standard error ends with: careful"));
    EXPECT_TRUE(testing::expect_error(answer_of(shell("echo; echo ' '")), ErrorKind::BadInput, "printed nothing"));
    EXPECT_TRUE(testing::expect_error(answer_of(shell("echo '{\"a\": null}'")), ErrorKind::BadInput, "not an answer"));
    EXPECT_TRUE(testing::expect_error(answer_of(shell("head -c 100000 /dev/zero; echo")), ErrorKind::BadInput, "..."));
    EXPECT_TRUE(testing::expect_error(answer_of(shell("printf '\\377\\n'")), ErrorKind::BadInput, "not an answer"));
    EXPECT_TRUE(testing::expect_error(answer_of(shell("echo why >&2; exit 7")), ErrorKind::BadInput, "why"));
}

TEST_F(external_program, what_cannot_run_is_refused_beforehand) {
    const auto refused = [](const Program& program, ErrorKind kind, std::string_view part) {
        EXPECT_TRUE(testing::expect_error(check_program(program), kind, part));
        EXPECT_TRUE(testing::expect_error(run_program(program, ""), kind, part));
        EXPECT_TRUE(testing::expect_error(host_function_from_program("f", program, {}), kind, part));
        EXPECT_TRUE(testing::expect_error(program_metric(program), kind, part));
    };
    refused({}, ErrorKind::BadInput, "without a command");
    refused({.command = {"no-such-program-anywhere"}}, ErrorKind::Io, "'no-such-program-anywhere' is in no folder");
    refused({.command = {"/no/such/program"}}, ErrorKind::Io, "'/no/such/program' does not exist");
    refused({.command = {"/etc/passwd"}}, ErrorKind::Io, "is not an executable file");
    refused({.command = {"/tmp"}}, ErrorKind::Io, "is not an executable file");
    refused({.command = {"/bin/sh"}, .directory = "/no/such/folder"}, ErrorKind::Io, "'/no/such/folder'");
    refused({.command = {"/bin/sh"}, .environment = {{"A=B", "c"}}}, ErrorKind::BadInput, "'A=B' is not a valid name");
    refused({.command = {"/bin/sh", std::string("a\0b", 3)}}, ErrorKind::BadInput, "null character");
    refused({.command = {"/bin/sh"}, .timeout = -1ms}, ErrorKind::BadInput, "below 0");

    std::ofstream(folder() / "text") << "neither a script nor a binary";
    std::filesystem::permissions(folder() / "text", std::filesystem::perms::owner_all);
    EXPECT_TRUE(testing::expect_error(run_program({.command = {(folder() / "text").string()}}, ""), ErrorKind::Io,
                                      "could not be started"));
}

TEST_F(external_program, folder_environment_and_path_are_as_asked_for) {
    std::ofstream(folder() / "own-tool") << "#!/bin/sh\npwd; echo \"$ADDED\"; echo \"$HOME\"\n";
    std::filesystem::permissions(folder() / "own-tool", std::filesystem::perms::owner_all);
    Program program{.command = {"own-tool"},
                    .directory = "/",
                    .environment = {{"PATH", folder().string() + ":/usr/bin:/bin"}, {"ADDED", "x y"}, {"HOME", "/h"}},
                    .answer = ProgramAnswer::WholeText};
    EXPECT_EQ(answer_of(program).value(), Value("/\nx y\n/h"));
    program.command = {"./own-tool"};
    program.directory = folder();
    EXPECT_EQ(answer_of(program).value(), Value(folder().string() + "\nx y\n/h"));
}

TEST_F(external_program, input_and_output_larger_than_pipes_pass) {
    const std::string input(3'000'000, 'x');
    Program echo = shell("cat");
    ASSERT_OK_AND_ASSIGN(const ProgramRun run, run_program(echo, input));
    EXPECT_EQ(run.output, input);
    Program counts = shell("wc -c");
    EXPECT_EQ(answer_of(counts, input).value(), Value(3e6));
}

TEST_F(external_program, input_that_nobody_reads_is_no_error) {
    const std::string input(3'000'000, 'x');
    EXPECT_EQ(answer_of(shell("exec 0<&-; echo 1"), input).value(), Value(1));
    EXPECT_EQ(answer_of(shell("head -c 10 >/dev/null; exec 0<&-; sleep .05; echo 2"), input).value(), Value(2));
}

TEST_F(external_program, too_much_output_ends_the_program) {
    Program program = shell("echo why >&2; yes");
    program.max_output_bytes = 1'000'000;
    program.grace = 20ms;
    const auto run = run_program(program, "");
    EXPECT_TRUE(testing::expect_error(run, ErrorKind::Io, "printed more than 1000000 bytes"));
    EXPECT_TRUE(testing::expect_error(run, ErrorKind::Io, "ends with: why"));
    program.command.back() = "head -c 1000000 /dev/zero";
    EXPECT_OK(run_program(program, ""));
}

TEST_F(external_program, the_end_of_standard_error_is_kept) {
    ASSERT_OK_AND_ASSIGN(const ProgramRun run,
                         run_program(shell("yes 0123456789 | head -c 5000000 >&2; echo the end >&2"), ""));
    EXPECT_EQ(run.error_tail.size(), 2048U);
    EXPECT_TRUE(run.error_tail.ends_with("9\nthe end\n") || run.error_tail.ends_with("the end\n"));
}

TEST_F(external_program, a_time_out_kills_the_children_too) {
    const std::string ids = (folder() / "ids").string();
    // A grandchild that takes no notice of SIGTERM, and holds on to the pipes.
    Program program = shell("(trap '' TERM; sleep 1000 & echo $! > " + ids + "; echo waiting >&2; wait) & wait");
    program.grace = 50ms;
    bool waits = false;
    for (program.timeout = 1s; !waits && program.timeout < 60s; program.timeout *= 4) {  // until it sleeps by then
        const auto run = run_program(program, "");
        ASSERT_TRUE(testing::expect_error(run, ErrorKind::Io,
                                          fmt::format("had not ended after {} ms", program.timeout.count())));
        EXPECT_EQ(run.error().native, ETIMEDOUT);
        waits = run.error().message.find("ends with: waiting") != std::string::npos;
    }
    EXPECT_TRUE(waits);
    std::string id = written_text(ids);
    ASSERT_FALSE(id.empty());
    id.pop_back();
    EXPECT_TRUE(soon([&] { return is_gone(id); })) << id;
}

TEST_F(external_program, children_that_are_left_behind_are_killed) {
    Program program = shell("sleep 1000 & echo $!");
    ASSERT_OK_AND_ASSIGN(const Value id, answer_of(program));  // does not wait for the child, which holds the output
    EXPECT_TRUE(soon([&] { return is_gone(std::to_string(static_cast<long>(*id.number()))); }));
}

TEST_F(external_program, sigterm_comes_first) {
    Program program =
        shell("trap 'echo cleaned > " + (folder() / "out").string() + "; exit 0' TERM; sleep 1000 & wait");
    program.grace = 20s;
    std::string cleaned;
    for (program.timeout = 1s; cleaned.empty() && program.timeout < 60s;
         program.timeout *= 4) {  // until its trap is set
        EXPECT_FALSE(run_program(program, ""));
        cleaned = written_text(folder() / "out");
    }
    EXPECT_EQ(cleaned, "cleaned\n");
}

TEST_F(external_program, a_stop_token_ends_the_program) {
    Program program = shell("sleep 1000");
    program.timeout = 0ms;
    std::stop_source stop;
    std::thread asks([&] {
        std::this_thread::sleep_for(30ms);
        stop.request_stop();
    });
    const auto run = run_program(program, "", stop.get_token());
    asks.join();
    EXPECT_TRUE(testing::expect_error(run, ErrorKind::Io, "its caller asked to stop"));
    EXPECT_EQ(run.error().native, ECANCELED);
    // One that has been asked before does not wait, either.
    EXPECT_FALSE(run_program(program, "", stop.get_token()));
}

TEST_F(external_program, nothing_of_ours_leaks) {
    // A descriptor without close-on-exec: others in the process have such.
    const int leaky = ::open("/dev/null", O_RDONLY);  // NOLINT: on purpose
    Program lists{.command = {"/bin/sh", "-c", "ls /proc/self/fd | wc -l"}};
    EXPECT_EQ(answer_of(lists).value(), Value(4));  // the standard three, and the folder that ls reads
    ::close(leaky);

    const std::size_t before = entries("/proc/self/fd");
    Program slow = shell("sleep 1000");
    slow.timeout = 5ms;
    slow.grace = 0ms;
    for (int i = 0; i < 5; ++i) {
        EXPECT_OK(run_program(shell("cat"), "text"));
        EXPECT_FALSE(run_program(slow, "text"));
        EXPECT_FALSE(run_program({.command = {(folder() / "none").string()}}, ""));
    }
    EXPECT_EQ(entries("/proc/self/fd"), before);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child, living or dead
    EXPECT_EQ(errno, ECHILD);
}

TEST_F(external_program, a_host_function_gets_fields_by_name_and_operands) {
    const std::vector<Field> fields{
        {.name = "threshold", .initial = .3},
        {.name = "rounds", .kind = FieldKind::Integer, .initial = 3, .lower = 1, .upper = 9},
        {.name = "fast", .kind = FieldKind::Boolean, .initial = 1},
        {.name = "mode", .kind = FieldKind::Choice, .initial = 1, .upper = 2, .choices = {"a", "b", "c"}}};
    Program program = shell("cat");
    program.answer = ProgramAnswer::WholeText;
    ASSERT_OK_AND_ASSIGN(const HostFunctionPtr function, host_function_from_program("f", program, fields));
    EXPECT_EQ(function->options.timeout, program.timeout);
    const std::vector<float> parameters{.3F, 3.0F, 1.0F, 2.0F};
    const std::vector<Value> operands{Value("text"), Value(2), Value(Tensor::vector({1, 2}))};
    const HostCall call{.parameters = parameters, .operands = operands, .stop = {}};
    ASSERT_OK_AND_ASSIGN(const Value answer, function->run(call));
    ASSERT_OK_AND_ASSIGN(const Json seen, parse_json(*answer.text(), "what it saw"));
    EXPECT_EQ(to_line(seen["parameters"]), R"({"threshold":0.3,"rounds":3,"fast":true,"mode":"c"})");
    EXPECT_EQ(seen["operands"].size(), 3U);
    EXPECT_EQ(seen["operands"][0], "text");
    EXPECT_EQ(value_from_json(seen["operands"][2]).value(), operands[2]);

    EXPECT_TRUE(testing::expect_error(function->run({.parameters = {}, .operands = {}, .stop = {}}),
                                      ErrorKind::BadInput, "It has 4 fields, but 0 parameters"));
    EXPECT_FALSE(host_function_from_program("f", program, {{.name = ""}}));
}

TEST_F(external_program, a_hyperfunction_begins_at_its_fields_defaults) {
    const std::vector<Field> fields{{.name = "a", .initial = .25}, {.name = "b", .initial = .5}};
    Program program = shell("sed 's/.*\"b\":\\([0-9.]*\\).*/\\1/'");
    ASSERT_OK_AND_ASSIGN(const AnyHyperfunction f,
                         program_hyperfunction("tool", program, fields, 1, {.optimize = true}));
    EXPECT_EQ(f.name(), "tool");
    EXPECT_TRUE(f.parts().spec.optimize);
    EXPECT_EQ(f.parts().values, Tensor::vector({.25F, .5F}));
    const std::vector<Value> operands{Value(1)};
    EXPECT_EQ(f.call_with(f.parts().values, operands).value(), Value(.5));
    EXPECT_EQ(f.call_with(Tensor::vector({0.0F, 0.75F}), operands).value(), Value(.75));
}

TEST_F(external_program, a_metric_gets_predictions_and_expected_values) {
    // The reward: 1 where the line is exactly this one.
    ASSERT_OK_AND_ASSIGN(
        const Metric metric,
        program_metric(shell(R"(read -r line; [ "$line" = '{"predictions":[1,"x"],"expected":[2,"y"]}' ] && echo 1)")));
    const std::vector<Value> predictions{Value(1), Value("x")};
    const std::vector<Value> expected{Value(2), Value("y")};
    ASSERT_OK_AND_ASSIGN(const Scores scores, score(metric, predictions, expected));
    EXPECT_EQ(scores.reward, 1.0);
    EXPECT_TRUE(testing::expect_error(score(metric, expected, expected), ErrorKind::BadInput, "ended with status 1"));

    ASSERT_OK_AND_ASSIGN(const Metric text, program_metric(shell("echo '\"text\"'"), "lint"));
    EXPECT_TRUE(testing::expect_error(score(text, predictions, expected), ErrorKind::BadInput, "lint"));
    Program whole = shell("echo 1");
    whole.answer = ProgramAnswer::WholeText;
    EXPECT_TRUE(testing::expect_error(program_metric(whole), ErrorKind::BadInput, "a reward is a number"));
}

TEST(threads, external_programs_run_side_by_side) {
    // Each waits until it sees four marks: only four at the same time end.
    const auto marks = std::filesystem::temp_directory_path() / ("yolk-programs-" + std::to_string(::getpid()));
    std::filesystem::create_directories(marks);
    Program program = shell("touch " + marks.string() + "/$$; while [ $(ls " + marks.string() +
                            " | wc -l) -lt 4 ]; do sleep .01; done; cat >/dev/null; echo 1");
    ASSERT_OK_AND_ASSIGN(const HostFunctionPtr function, host_function_from_program("meets", program, {}));
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 4}));
    const std::vector<HostTask> tasks(4, HostTask{.function = function});
    for (const Result<Value>& result : pool.run_all(tasks)) EXPECT_OK(result);
    EXPECT_EQ(entries(marks.c_str()), 4U);
    std::filesystem::remove_all(marks);
}

TEST(threads, a_pools_time_out_kills_the_program) {
    const auto file = std::filesystem::temp_directory_path() / ("yolk-program-id-" + std::to_string(::getpid()));
    Program program = shell("echo $$ > " + file.string() + "; sleep 1000");
    ASSERT_OK_AND_ASSIGN(const HostFunctionPtr function,
                         host_function_from_program("sleeps", program, {}, {.timeout = 1s}));
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create());
    const std::vector<HostTask> tasks(1, HostTask{.function = function});
    EXPECT_TRUE(testing::expect_error(pool.run_all(tasks)[0], ErrorKind::Io, "no result within 1000 ms"));
    EXPECT_TRUE(soon([&] { return pool.abandoned() == 0; }));  // the call ended, once it had killed the program
    std::string id = written_text(file);
    ASSERT_FALSE(id.empty());
    id.pop_back();
    EXPECT_TRUE(is_gone(id)) << id;
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace yolk::hyper
