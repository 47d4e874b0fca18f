// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace yolk::cli {
namespace {

std::filesystem::path new_folder(const std::string& what) {
    static std::atomic<int> count{0};
    auto folder = std::filesystem::temp_directory_path() /
                  ("yolk-cli-" + what + "-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::create_directories(folder);
    return folder;
}

[[noreturn]] void become_command(const std::string& program, const std::vector<std::string>& arguments,
                                 const std::map<std::string, std::string>& variables,
                                 const std::filesystem::path& scratch) {
    const auto redirect = [&scratch](const char* name, int to) {
        const int file = ::open((scratch / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ::dup2(file, to);
    };
    redirect("out", STDOUT_FILENO);
    redirect("err", STDERR_FILENO);
    ::unsetenv("YOLK_DEVICE");
    ::unsetenv("YOLK_COMMAND");
    // Kernels that were specialized are kept from command to command, as a user's are: making them is most of a
    // command's start (1.0 of 1.2 s for a search over xor). The tuning table is each command's own.
    if (!variables.contains("YOLK_CACHE")) {
        ::setenv("YOLK_CACHE", YOLK_KEPT_KERNELS, 1);
        ::setenv("YOLK_TABLE", (scratch / "tuning.sqlite").c_str(), 1);
    }
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    ::setenv("YOLK", YOLK_BINARY, 1);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);  // the suite may ignore some
    std::string name = program;
    std::vector<std::string> copies = arguments;
    std::vector<char*> pointers{name.data()};
    for (std::string& copy : copies) pointers.push_back(copy.data());
    pointers.push_back(nullptr);
    ::execv(program.c_str(), pointers.data());
    ::_exit(127);
}

pid_t start_program(const std::string& program, const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& variables, const std::filesystem::path& scratch) {
    const pid_t child = ::fork();
    if (child == 0) become_command(program, arguments, variables, scratch);
    return child;
}
pid_t start(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables,
            const std::filesystem::path& scratch) {
    return start_program(YOLK_BINARY, arguments, variables, scratch);
}

/// Whether it has ended; it stays there for finish().
bool has_ended(pid_t child) {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid != 0;
}

Ran finish(pid_t child, const std::filesystem::path& scratch) {
    int status = 0;
    ::waitpid(child, &status, 0);
    Ran ran{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            .out = read_text(scratch / "out"),
            .err = read_text(scratch / "err")};
    std::filesystem::remove_all(scratch);
    return ran;
}

}  // namespace

std::vector<Json> Ran::lines() const {
    std::vector<Json> values;
    std::istringstream stream(out);
    for (std::string line; std::getline(stream, line);) values.push_back(Json::parse(line, nullptr, false));
    return values;
}

Json Ran::last() const {
    const std::vector<Json> all = lines();
    return all.empty() ? Json() : all.back();
}

Ran run_command(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables) {
    const std::filesystem::path scratch = new_folder("run");
    const pid_t child = start(arguments, variables, scratch);
    return finish(child, scratch);
}

Ran run_shell(const std::string& script, const std::map<std::string, std::string>& variables) {
    const std::filesystem::path scratch = new_folder("run");
    const pid_t child = start_program("/bin/bash", {"-c", script}, variables, scratch);
    return finish(child, scratch);
}

Ran run_and_interrupt(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables,
                      const Signal& signal) {
    const std::filesystem::path scratch = new_folder("run");
    const pid_t child = start(arguments, variables, scratch);
    const auto lines = [&scratch] {
        const std::string out = read_text(scratch / "out");
        return static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n'));
    };
    while (!has_ended(child) && lines() < signal.lines) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (int i = 0; i < signal.times; ++i) ::kill(child, signal.number);
    return finish(child, scratch);
}

Ran run_and_kill(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables,
                 std::chrono::milliseconds after, int number) {
    const std::filesystem::path scratch = new_folder("run");
    const auto deadline = std::chrono::steady_clock::now() + after;
    const pid_t child = start(arguments, variables, scratch);
    while (!has_ended(child) && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    ::kill(child, number);
    return finish(child, scratch);
}

std::map<std::string, std::string> only(const std::string& drivers) {
    return {{"VK_ICD_FILENAMES", drivers}, {"VK_DRIVER_FILES", drivers}};
}

void InFolder::SetUp() { folder_ = new_folder("test"); }
void InFolder::TearDown() { std::filesystem::remove_all(folder_); }

std::string read_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

int setting(const char* name, int unset) {
    const char* const text = std::getenv(name);
    if (text == nullptr) return unset;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    EXPECT_TRUE(*text != '\0' && *end == '\0' && value >= 1 && value <= 1000000) << name << " is '" << text << "'";
    return static_cast<int>(value);
}

std::size_t occurrences(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace yolk::cli
