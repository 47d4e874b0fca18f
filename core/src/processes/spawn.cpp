// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "spawn.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk {
namespace {

std::string system_message(int error) { return std::error_code(error, std::generic_category()).message(); }

struct Pipe {
    Descriptor read;
    Descriptor write;
};

/// Its ends must not be the standard three themselves, which the actions overwrite.
Result<Pipe> make_pipe() {
    const auto failed = [] {
        return io_error(fmt::format("No pipe could be made: {}.", system_message(errno)), errno);
    };
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed();
    Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
    for (Descriptor* const end : {&pipe.read, &pipe.write}) {
        if (end->get() > STDERR_FILENO) continue;
        const int higher = ::fcntl(end->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (higher < 0) return failed();
        *end = Descriptor(higher);
    }
    return pipe;
}

void unblock(const Descriptor& end) { ::fcntl(end.get(), F_SETFL, ::fcntl(end.get(), F_GETFL) | O_NONBLOCK); }

std::string path_variable(const ChildProgram& program) {
    for (const auto& [name, value] : program.environment) {
        if (name == "PATH") return value;
    }
    const char* const path = ::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing of ours sets it
    return path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
}

bool can_run(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// The program's file, absolute or from the caller's folder.
Result<std::filesystem::path> find_program(const ChildProgram& program) {
    const std::string& name = program.command.front();
    std::error_code ignored;
    if (name.find('/') != std::string::npos) {
        std::filesystem::path path = program.directory / name;  // `name` alone where it is absolute
        if (can_run(path)) return std::filesystem::absolute(path, ignored);
        const bool exists = std::filesystem::exists(path, ignored);
        return io_error(
            fmt::format("Program '{}' {}.", shown(path), exists ? "is not an executable file" : "does not exist"),
            exists ? EACCES : ENOENT);
    }
    const std::string path = path_variable(program);
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        const std::filesystem::path folder = path.substr(begin, end - begin);
        if (!folder.empty() && can_run(folder / name)) return std::filesystem::absolute(folder / name, ignored);
        begin = end + 1;
    }
    return io_error(fmt::format("Program '{}' is in no folder of PATH ({}); install it or give its path.", name, path),
                    ENOENT);
}

/// argv or envp: pointers into strings that this owns.
class CStrings {
   public:
    explicit CStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
        for (std::string& text : strings_) pointers_.push_back(text.data());
        pointers_.push_back(nullptr);
    }
    [[nodiscard]] char* const* data() noexcept { return pointers_.data(); }

   private:
    std::vector<std::string> strings_;
    std::vector<char*> pointers_;
};

std::vector<std::string> environment_of(const ChildProgram& program) {
    std::vector<std::string> all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        const bool replaced =
            std::ranges::any_of(program.environment, [name](const auto& added) { return added.first == name; });
        if (!replaced) all.emplace_back(text);
    }
    for (const auto& [name, value] : program.environment) all.push_back(fmt::format("{}={}", name, value));
    return all;
}

class SpawnSettings {
   public:
    SpawnSettings() {
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
    }
    ~SpawnSettings() {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }
    SpawnSettings(const SpawnSettings&) = delete;
    SpawnSettings& operator=(const SpawnSettings&) = delete;

    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
};

/// A process group of its own, no signal blocked or ignored, nothing open but the standard three.
void set_up(SpawnSettings& settings, const ChildProgram& program, const Pipe& in, const Pipe& out, const Pipe& err) {
    ::posix_spawn_file_actions_adddup2(&settings.actions, in.read.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&settings.actions, out.write.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&settings.actions, err.write.get(), STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&settings.actions, STDERR_FILENO + 1);
    if (!program.directory.empty()) {
        ::posix_spawn_file_actions_addchdir_np(&settings.actions, program.directory.c_str());
    }
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&settings.attributes, &none);
    ::posix_spawnattr_setsigdefault(&settings.attributes, &all);
    ::posix_spawnattr_setpgroup(&settings.attributes, 0);
    ::posix_spawnattr_setflags(&settings.attributes,
                               POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

}  // namespace

Result<Child> spawn(const ChildProgram& program) {
    YOLK_TRY(const std::filesystem::path file, find_program(program));
    YOLK_TRY(Pipe in, make_pipe());
    YOLK_TRY(Pipe out, make_pipe());
    YOLK_TRY(Pipe err, make_pipe());
    SpawnSettings settings;
    set_up(settings, program, in, out, err);
    CStrings arguments(program.command);
    CStrings environment(environment_of(program));
    Child child;
    const int error = ::posix_spawn(&child.id, file.c_str(), &settings.actions, &settings.attributes, arguments.data(),
                                    environment.data());
    if (error != 0) {
        return io_error(
            fmt::format("Program '{}' could not be started{}: {}.", shown(file),
                        program.directory.empty() ? "" : fmt::format(" in folder '{}'", shown(program.directory)),
                        system_message(error)),
            error);
    }
    child.in = std::move(in.write);
    child.out = std::move(out.read);
    child.err = std::move(err.read);
    unblock(child.in);
    unblock(child.out);
    unblock(child.err);
    return child;
}

Result<void> check_program(const ChildProgram& program) {
    if (program.command.empty() || program.command.front().empty()) {
        return bad_input("A program without a command was given; name it, then its arguments.");
    }
    const auto holds_null = [](const std::string& text) { return text.find('\0') != std::string::npos; };
    for (const auto& [name, value] : program.environment) {
        if (name.empty() || name.find('=') != std::string::npos || holds_null(name) || holds_null(value)) {
            return bad_input(
                "Program '{}': '{}' is not a valid name of an environment variable, or its value contains "
                "a null character.",
                program.command.front(), name);
        }
    }
    if (std::ranges::any_of(program.command, holds_null)) {
        return bad_input("Program '{}': an argument holds a null character.", program.command.front());
    }
    std::error_code ignored;
    if (!program.directory.empty() && !std::filesystem::is_directory(program.directory, ignored)) {
        return io_error(fmt::format("Program '{}' was to run in folder '{}', which does not exist.",
                                    program.command.front(), shown(program.directory)),
                        ENOENT);
    }
    if (program.timeout.count() < 0 || program.grace.count() < 0) {
        return bad_input("Program '{}': a time-out or grace is below 0; 0 means no limit.", program.command.front());
    }
    YOLK_TRY_VOID(find_program(program));
    return {};
}

}  // namespace yolk
