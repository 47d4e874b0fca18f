// SPDX-License-Identifier: Apache-2.0
#include "reflection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace yolk::hyper {

std::string_view default_reflection_prompt() noexcept {
    return R"(A language model is given an instruction and then does a task. This is the instruction, which is called {component}:
```
{text}
```

These are examples of the task. Each has the inputs of the whole task, the calls in which the instruction was used, the
answer that the task came to, its score, and feedback on it:
```
{records}
```

Write a better instruction for it. Read the inputs to see what the task is and in what form they come. Read the feedback
to see what was wrong, and which facts about the task the model did not know: put them into the instruction, because the
model will not see this feedback. Keep what worked. Where the answers show a way of solving the task that works in
general, put that in as well.

Give the new instruction between ``` and ```, and nothing else between them.)";
}

}  // namespace yolk::hyper

namespace yolk::hyper::prompts {
namespace {

constexpr std::string_view kFence = "```";
constexpr std::string_view kSpace = " \t\r\n\f\v";

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

/// Without a first line that is one word, or empty.
std::string_view without_language(std::string_view text) {
    const std::size_t space = text.find_first_of(kSpace);
    return space != std::string_view::npos && text[space] == '\n' ? text.substr(space + 1) : text;
}

constexpr std::string_view kThisText = "(this instruction, as it is)";

/// With a heading for each field of a record. `text` has a phrase in its place; empty: nothing has.
void append_value(std::string& out, const Value& value, std::size_t level, std::string_view text = {}) {
    if (const Record* const record = value.record(); record != nullptr) {
        for (const auto& [name, field] : record->fields()) {
            out += fmt::format("{} {}\n", std::string(std::min<std::size_t>(level, 6), '#'), name);
            append_value(out, field, level + 1, text);
        }
        return;
    }
    const bool is_this = value.text() != nullptr && !text.empty() && *value.text() == text;
    out += is_this ? std::string(kThisText) : value.tensor() != nullptr ? to_string(value) : text_of(value);
    out += "\n\n";
}

void append_call(std::string& out, const TextCall& call, std::size_t number, std::string_view text) {
    out += fmt::format("## Call {}: {}\n", number, call.name);
    append_value(out, call.inputs, 3, text);
    out += "### what it gave\n";
    append_value(out, call.output ? *call.output : Value("(nothing: it failed)"), 4);
}

std::string_view between_fences(std::string_view reply) {
    const std::size_t first = reply.find(kFence);
    const std::size_t last = reply.rfind(kFence);
    if (first != std::string_view::npos && first + kFence.size() <= last && first != last)
        return trimmed(without_language(reply.substr(first + kFence.size(), last - first - kFence.size())));
    std::string_view text = trimmed(reply);
    if (text.starts_with(kFence)) return trimmed(without_language(text.substr(kFence.size())));
    if (text.ends_with(kFence)) text.remove_suffix(kFence.size());
    return trimmed(text);
}

}  // namespace

std::string records_text(std::span<const TextRecord> records, std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < records.size(); ++i) {
        out += fmt::format("# Example {}\n## Inputs\n", i + 1);
        append_value(out, records[i].inputs, 3);
        for (std::size_t call = 0; call < records[i].calls.size(); ++call)
            append_call(out, records[i].calls[call], call + 1, text);
        out += "## Generated Outputs\n";
        append_value(out, records[i].output, 3);
        if (records[i].score) out += fmt::format("## Score\n{}\n\n", *records[i].score);
        out += fmt::format("## Feedback\n{}\n\n", records[i].feedback);
    }
    return std::string(trimmed(out));
}

std::string filled_in(std::string_view prompt, std::string_view component, std::string_view text,
                      std::string_view records) {
    const std::array<std::pair<std::string_view, std::string_view>, 3> places{
        {{"{component}", component}, {"{text}", text}, {"{records}", records}}};
    std::string out;
    while (!prompt.empty()) {
        const auto here =
            std::ranges::find_if(places, [&](const auto& place) { return prompt.starts_with(place.first); });
        if (here != places.end()) {
            out += here->second;
            prompt.remove_prefix(here->first.size());
        } else {
            out += prompt.front();
            prompt.remove_prefix(1);
        }
    }
    return out;
}

chat::Request reflection_request(const GepaOptions& options, std::string_view component, std::string_view text,
                                 std::span<const TextRecord> records, std::uint32_t number) {
    const std::string_view prompt =
        options.reflection_prompt.empty() ? default_reflection_prompt() : std::string_view(options.reflection_prompt);
    chat::Request request = options.reflection;
    request.messages.push_back({"user", filled_in(prompt, component, text, records_text(records, text))});
    request.sample += number;
    return request;
}

Result<std::string> new_text_in(const chat::Answer& answer) {
    const std::string_view reply = chat::without_thoughts(answer.content);
    const bool is_closed = reply.find(kFence) != reply.rfind(kFence);
    if (answer.finish_reason == "length" && !is_closed) {
        return failed_work(
            "The reflecting model's reply was cut at its token limit before the new text ended; allow it more tokens.");
    }
    const std::string_view text = between_fences(reply);
    if (text.empty()) return failed_work("The reflecting model's reply has no new text in it.");
    return std::string(text);
}

}  // namespace yolk::hyper::prompts
