// SPDX-License-Identifier: Apache-2.0
// Every option that takes a path is given something that is not a file, and says so at once.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

class paths : public InFolder {
   protected:
    void SetUp() override {
        InFolder::SetUp();
        std::filesystem::create_directory(folder_ / "folder");
        ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
        std::filesystem::create_symlink("pipe", folder_ / "link");
        std::filesystem::create_symlink("/dev/zero", folder_ / "device");
        std::filesystem::create_symlink("nowhere", folder_ / "dangling");
        std::filesystem::create_symlink("loop", folder_ / "loop");
        const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = folder_ / "socket";
        ASSERT_LT(path.size(), sizeof(address.sun_path));
        path.copy(address.sun_path, path.size());
        ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        ::close(listener);
        write_text(folder_ / "metrics", "{}\n");
        write_text(folder_ / "shader.comp", "#version 450\nvoid main() {}\n");
        write_text(folder_ / "space.json", "{}");
    }
    /// Ends within its time, with an error that names the path or says what is there. `timeout` ends it with 124.
    void expect_words(const std::string& command, const std::string& path, const std::string& words) const {
        std::string line = command;
        line.replace(line.find("{}"), 2, "'./" + path + "'");
        const Ran ran = run_shell("cd '" + folder_.string() + "'; timeout -k 5 60 \"$YOLK\" " + line, only(kLavapipe));
        EXPECT_TRUE(ran.code == 1 || ran.code == 2) << line.substr(0, 300) << ": " << ran.code << ", " << ran.err;
        EXPECT_THAT(ran.err, HasSubstr("yolk: error: ")) << line.substr(0, 300);
        EXPECT_THAT(ran.err, HasSubstr(words)) << line.substr(0, 300);
    }
};

/// A path longer than PATH_MAX, 4096 bytes.
std::string too_long_path() {
    std::string path = "a";
    while (path.size() < 5000) path += "/" + std::string(99, 'b');
    return path;
}

constexpr const char* kReaders[] = {"eval {}",
                                    "replay {}",
                                    "train --env {} --out ''",
                                    "eval metrics --env {}",
                                    "bench rollout --env {}",
                                    "system xor evaluate --load {}",
                                    "system xor optimize --generations 1 --load {}",
                                    "tune surface {}",
                                    "tune kernel {} --space space.json",
                                    "tune kernel shader.comp --space {}",
                                    "tune --shapes {}",
                                    "tune table import {}",
                                    "tune report page.html --surface {}",
                                    "inspect --shapes {}",
                                    "inspect --kernel {} --space space.json",
                                    "inspect \"noise elements=64\" --known {}",
                                    "plot {} --out curve.svg"};

TEST_F(paths, what_is_no_file_is_not_read) {
    for (const char* const command : kReaders) {
        expect_words(command, "pipe", "named pipe");
        expect_words(command, "link", "named pipe");
        expect_words(command, "socket", "is a socket");
        expect_words(command, "device", "is a device");
        expect_words(command, "dangling", "/dangling'");
        expect_words(command, "loop", "symbolic links");
        const bool is_environment = std::string(command).find("--env") != std::string::npos;  // short names only
        expect_words(command, std::string(256, 'n'), is_environment ? "the name 'nnn" : "name too long");
        expect_words(command, too_long_path(), is_environment ? "the name 'bbb" : "name too long");
        if (std::string(command) != "replay {}") expect_words(command, "folder", "a folder");  // a run's is right
    }
}

constexpr const char* kWriters[] = {"system xor save --out {}", "system xor graph --dot {}",
                                    "system xor graph --svg {}", "tune table export {}", "plot metrics --out {}.svg"};

TEST_F(paths, what_is_no_file_is_not_replaced) {
    for (const char* const name : {"pipe", "folder", "socket"}) {
        std::filesystem::create_symlink(name, folder_ / (std::string(name) + ".svg"));
    }
    for (const char* const command : kWriters) {
        expect_words(command, "pipe", "");
        expect_words(command, "folder", "");
        expect_words(command, "socket", "");
        expect_words(command, std::string(256, 'n'), "");
        expect_words(command, too_long_path(), "");
    }
    EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "pipe"));
    EXPECT_TRUE(std::filesystem::is_socket(folder_ / "socket"));
}

// The longest that a file may have leaves no room for the endings of lock, temporary file and checkpoint.
TEST_F(paths, longest_names_are_taken) {
    const std::string name(255, 'n');
    const Ran ran =
        run_shell("cd '" + folder_.string() + "'; \"$YOLK\" system xor optimize --generations 1 --json --out " + name +
                      " --log " + std::string(255, 'l'),
                  only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(
        run_shell("cd '" + folder_.string() + "'; \"$YOLK\" system xor evaluate --load " + name, only(kLavapipe)).code,
        0);
}

TEST_F(paths, files_of_a_run_that_are_no_files_are_told_when_it_is_resumed) {
    const std::string train = "train cartpole --population 64 --max-steps 10 --keep-going --out {} --generations ";
    const auto run = [&](const std::string& rest) {
        std::string line = train + rest;
        line.replace(line.find("{}"), 2, "run");
        return run_shell("cd '" + folder_.string() + "'; timeout -k 5 60 \"$YOLK\" " + line, only(kLavapipe));
    };
    ASSERT_EQ(run("2").code, 0);
    for (const char* const name : {"metrics.jsonl", "checkpoint.yolk", "log.yolk", "policy.safetensors"}) {
        std::filesystem::rename(folder_ / "run" / name, folder_ / "kept");
        ASSERT_EQ(::mkfifo((folder_ / "run" / name).c_str(), 0600), 0);
        const Ran pipe = run("3 --resume");
        EXPECT_TRUE(pipe.code == 1 || pipe.code == 2) << name << ": " << pipe.code << pipe.err;
        EXPECT_THAT(pipe.err, HasSubstr(std::string(name) + "' is")) << name;
        std::filesystem::remove(folder_ / "run" / name);
        std::filesystem::create_directory(folder_ / "run" / name);
        const Ran folder = run("3 --resume");
        EXPECT_TRUE(folder.code == 1 || folder.code == 2) << name << ": " << folder.code << folder.err;
        EXPECT_THAT(folder.err, HasSubstr(std::string(name) + "' is")) << name;
        std::filesystem::remove(folder_ / "run" / name);
        std::filesystem::rename(folder_ / "kept", folder_ / "run" / name);
    }
    EXPECT_EQ(run("3 --resume").code, 0);
}

TEST_F(paths, names_steer_no_terminal_and_begin_no_line) {
    const std::string name = "no\nyolk: error: done\x1b[31m\x9b";
    const Ran eval = run_command({"eval", (folder_ / name).string()}, only(kLavapipe));
    EXPECT_EQ(eval.code, 1);
    EXPECT_THAT(eval.err, HasSubstr("no\\nyolk: error: done\\x1b[31m\\x9b'"));
    const Ran unknown = run_command({"train", "cartpole", "--out", "", name}, only(kLavapipe));
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("done\\x1b[31m\\x9b"));
    const Ran train = run_command({"train", "cartpole", "--population", "64", "--max-steps", "5", "--generations", "1",
                                   "--keep-going", "--out", (folder_ / name).string()},
                                  only(kLavapipe));
    ASSERT_EQ(train.code, 0) << train.err;
    for (const Ran& ran : {eval, unknown, train}) {
        for (const std::string& text : {ran.out, ran.err})
            EXPECT_EQ(text.find_first_of("\x1b\x9b"), std::string::npos) << text;
    }
    // What it says to type next is the folder that it made.
    const std::size_t at = train.out.find("eval $'");
    ASSERT_NE(at, std::string::npos) << train.out;
    const Ran again = run_shell("\"$YOLK\" " + train.out.substr(at, train.out.find('\n', at) - at) + " --episodes 1",
                                only(kLavapipe));
    EXPECT_EQ(again.code, 0) << again.err;
}

}  // namespace
}  // namespace yolk::cli
