// SPDX-License-Identifier: Apache-2.0
// Objectives of prompt searches that are functions, and models on loopback that reflect by a rule. Such a model knows
// nothing but the request that it is sent.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "yolk/chat.hpp"
#include "yolk/chat_server.hpp"
#include "yolk/json.hpp"
#include "yolk/prompts.hpp"

namespace yolk::hyper::prompts {

using ToyScore = std::function<TextScore(TextSplit split, std::uint32_t id, const Texts& texts)>;
using Reflector = std::function<Result<chat::Answer>(const chat::Request& request)>;

/// Scores by a function of the texts; counts one token a word.
class ToyObjective final : public TextObjective {
   public:
    ToyObjective(Texts start, std::uint32_t train, std::uint32_t validation, ToyScore score, Reflector reflector)
        : start_(std::move(start)),
          train_(train),
          validation_(validation),
          score_(std::move(score)),
          reflector_(std::move(reflector)) {}

    [[nodiscard]] const TextRunOptions& options() const noexcept override { return run; }
    [[nodiscard]] Texts start() const override { return start_; }
    [[nodiscard]] std::uint32_t train_size() const noexcept override { return train_; }
    [[nodiscard]] std::uint32_t validation_size() const noexcept override { return validation_; }
    [[nodiscard]] std::string identity() const override { return name; }
    [[nodiscard]] std::uint64_t model_calls_per_example() const noexcept override { return calls_per_example; }
    [[nodiscard]] TextCost cost() const noexcept override { return cost_; }

    [[nodiscard]] Result<std::vector<TextScore>> evaluate(TextSplit split, std::span<const std::uint32_t> ids,
                                                          const Texts& candidate, bool capture) override {
        ++evaluations;
        cost_.metric_calls += ids.size();
        cost_.model_calls += ids.size() * calls_per_example;
        std::vector<TextScore> scores;
        for (const std::uint32_t id : ids) {
            scores.push_back(score_(split, id, candidate));
            if (!capture) scores.back().records.clear();
        }
        return scores;
    }
    [[nodiscard]] std::vector<Result<chat::Answer>> reflect(std::span<const chat::Request> requests) override {
        std::vector<Result<chat::Answer>> answers;
        for (const chat::Request& request : requests) {
            answers.push_back(reflector_(request));
            ++cost_.model_calls;
            if (!answers.back()) continue;
            cost_.prompt_tokens += answers.back()->usage.prompt_tokens;
            cost_.completion_tokens += answers.back()->usage.completion_tokens;
            cost_.cost += 1e-6 * static_cast<double>(answers.back()->usage.prompt_tokens);
        }
        return answers;
    }
    void offer(const Texts& candidate, double mean) override {
        if (best && mean <= best->second) return;
        best.emplace(candidate, mean);
    }
    [[nodiscard]] bool report(const TextStep& step) override {
        steps.push_back(step);
        return !on_step || on_step(step);
    }
    void stopped(std::string_view why) override { stopped_by = why; }

    TextRunOptions run{};
    std::string name = "toy";
    std::uint64_t calls_per_example = 0;
    std::function<bool(const TextStep&)> on_step{};
    std::vector<TextStep> steps{};
    std::optional<std::pair<Texts, double>> best{};
    std::string stopped_by{};
    std::uint64_t evaluations = 0;

   private:
    Texts start_;
    std::uint32_t train_;
    std::uint32_t validation_;
    ToyScore score_;
    Reflector reflector_;
    TextCost cost_{};
};

/// Answers without a server.
inline Reflector always_says(std::string reply) {
    return [reply](const chat::Request&) { return Result<chat::Answer>(chat::Answer{.content = reply}); };
}

// Prompts of lines, each a rule.

inline std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    std::istringstream stream{std::string(text)};
    for (std::string line; std::getline(stream, line);) {
        if (!line.empty()) lines.push_back(line);
    }
    return lines;
}
inline bool has_line(std::string_view text, std::string_view line) {
    const std::vector<std::string> lines = lines_of(text);
    return std::ranges::find(lines, line) != lines.end();
}
inline std::string joined(std::span<const std::string> lines) {
    std::string text;
    for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
    return text;
}

/// The last message of a request, which is GEPA's.
inline std::string prompt_in(const Json& request) { return request["messages"].back()["content"].get<std::string>(); }

/// The text that a prompt asks to be made better: its first fence.
inline std::string text_in_prompt(std::string_view prompt) {
    const std::size_t begin = prompt.find("```\n") + 4;
    return std::string(prompt.substr(begin, prompt.find("\n```", begin) - begin));
}

/// What the feedback in a prompt says that the answer "must" do, one clause a line, in order.
inline std::vector<std::string> demands_in(std::string_view prompt) {
    constexpr std::string_view kMust = "The answer must ";
    std::vector<std::string> demands;
    for (const std::string& line : lines_of(prompt)) {
        const std::size_t at = line.find(kMust);
        if (at != std::string::npos) demands.push_back(line.substr(at + kMust.size()));
    }
    return demands;
}

inline chat_server::Reply fenced(const std::string& text) {
    return {.content = "Here is a better one:\n```\n" + text + "\n```"};
}

/// Adds the first demand of the feedback that the text does not meet yet; nothing else.
inline chat_server::Reply adds_a_demand(const Json& request) {
    const std::string prompt = prompt_in(request);
    std::vector<std::string> lines = lines_of(text_in_prompt(prompt));
    for (const std::string& demand : demands_in(prompt)) {
        if (std::ranges::find(lines, demand) != lines.end()) continue;
        lines.push_back(demand);
        break;
    }
    return fenced(joined(lines));
}

/// A server with a rule, and a client of it.
class Reflecting {
   public:
    explicit Reflecting(chat_server::Rule rule) {
        Result<chat_server::Server> started = chat_server::Server::start({.rule = std::move(rule)});
        EXPECT_TRUE(started) << (started ? "" : started.error().message);
        server_.emplace(*std::move(started));
        Result<chat::Client> made =
            chat::Client::create({.base_url = server_->base_url(), .key_variable = "", .model = "toy", .attempts = 1});
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        client_ = std::make_shared<chat::Client>(*std::move(made));
    }
    [[nodiscard]] Reflector reflector() const {
        return [client = client_](const chat::Request& request) { return client->call(request); };
    }
    [[nodiscard]] const std::shared_ptr<chat::Client>& client() const { return client_; }
    [[nodiscard]] chat_server::Server& server() { return *server_; }

   private:
    std::optional<chat_server::Server> server_;
    std::shared_ptr<chat::Client> client_;  // ends before its server
};

/// A folder of a test's own.
class PromptFolder {
   public:
    PromptFolder() {
        path_ = std::filesystem::temp_directory_path() / ("yolk-prompts-" + std::to_string(::getpid()));
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~PromptFolder() { std::filesystem::remove_all(path_); }
    PromptFolder(const PromptFolder&) = delete;
    PromptFolder& operator=(const PromptFolder&) = delete;
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

   private:
    std::filesystem::path path_;
};

inline std::string contents_of(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

// A task whose best prompt is known: ten rules of sixty-four, and nothing else.

inline std::string rule_text(std::uint32_t rule) { return "follow rule " + std::to_string(rule * 7 % 64); }
inline constexpr std::uint32_t kNeededRules = 10;
inline constexpr std::uint32_t kKnownRules = 64;

/// Two of the ten rules decide about an example; each rule in the prompt that is not one of the ten costs a twentieth.
/// The feedback names the rules that were broken.
inline TextScore rules_score(TextSplit split, std::uint32_t id, const Texts& texts) {
    const std::string& prompt = texts.at("prompt");
    std::set<std::string> needed;
    for (std::uint32_t rule = 0; rule < kNeededRules; ++rule) needed.insert(rule_text(rule));
    double clutter = 0;
    for (const std::string& line : lines_of(prompt))
        clutter += line.starts_with("follow") && !needed.contains(line) ? 1 : 0;
    const std::uint32_t shift = split == TextSplit::Train ? 1 : 4;
    TextScore score;
    std::string feedback;
    for (const std::uint32_t rule : {id % kNeededRules, (3 * id + shift) % kNeededRules}) {
        if (has_line(prompt, rule_text(rule))) {
            score.score += 0.5;
        } else {
            feedback += "That is wrong. The answer must " + rule_text(rule) + "\n";
        }
    }
    score.score -= 0.05 * clutter;
    if (feedback.empty()) feedback = clutter > 0 ? "Right, but the prompt distracts from it." : "Right.";
    score.records = {{.component = "prompt",
                      .inputs = "question " + std::to_string(id),
                      .output = "an answer",
                      .feedback = feedback}};
    return score;
}

// A task of two components. Either one alone is half of it; together they are the whole. Where one of them has its
// rule, the feedback of the other half blames that same one, which helps a little and leads nowhere.

inline constexpr const char* kReaderRule = "take figures from the tables";
inline constexpr const char* kWriterRule = "write whole sentences";
inline constexpr std::uint32_t kHalves = 8;  ///< examples of each split; odd ones are the writer's

inline TextScore halves_score(TextSplit /*split*/, std::uint32_t id, const Texts& texts) {
    const bool reads = has_line(texts.at("reader"), kReaderRule);
    const bool writes = has_line(texts.at("writer"), kWriterRule);
    const bool is_writers = id % 2 == 1;
    const std::string mine = is_writers ? "writer" : "reader";
    const std::string other = is_writers ? "reader" : "writer";
    const bool mine_holds = is_writers ? writes : reads;
    const bool other_holds = is_writers ? reads : writes;
    TextScore score;
    std::string blamed = mine;
    std::string feedback = "Fine.";
    if (mine_holds) {
        score.score = other_holds ? 1.0 : 0.8;
    } else if (!other_holds) {
        score.score = 0.3;
        feedback = std::string("That is wrong. The answer must ") + (is_writers ? kWriterRule : kReaderRule);
    } else {
        // The first fault that is seen lies in the component that has its rule: eight small ones, a hundredth each.
        blamed = other;
        std::uint32_t mended = 0;
        while (mended < 8 && has_line(texts.at(other), "avoid fault " + std::to_string(mended))) ++mended;
        score.score = 0.1 + 0.01 * mended;
        feedback = mended < 8 ? "That is wrong. The answer must avoid fault " + std::to_string(mended) : "Still wrong.";
    }
    for (const std::string& component : {mine, other}) {
        score.records.push_back({.component = component,
                                 .inputs = "report " + std::to_string(id),
                                 .output = "a summary",
                                 .feedback = component == blamed ? feedback : "Nothing to say about this part."});
    }
    return score;
}

}  // namespace yolk::hyper::prompts
