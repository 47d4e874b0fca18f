// SPDX-License-Identifier: Apache-2.0
#include "text_model.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "yolk/chat.hpp"
#include "yolk/json.hpp"

namespace text_example {
namespace {

using namespace yolk;

/// What an endpoint is asked for where no --model is given; servers of one model do not look at it.
constexpr const char* kUsualModel = "gpt-4o-mini";

/// Of `--model NAME` in front of the command, which goes.
std::optional<std::string> take_model(int& argc, char**& argv) {
    if (argc < 3 || std::string_view(argv[1]) != "--model") return std::nullopt;
    std::string name = argv[2];
    argv[2] = argv[0];
    argv += 2;
    argc -= 2;
    return name;
}

/// The part between two marks, the second one the last there is.
std::string between(std::string_view text, std::string_view first, std::string_view last) {
    const std::size_t begin = text.find(first);
    const std::size_t end = text.rfind(last);
    if (begin == text.npos || end == text.npos || end < begin + first.size()) return {};
    return std::string(text.substr(begin + first.size(), end - begin - first.size()));
}

Result<hyper::Model> open_model(chat::ClientOptions options, chat_server::Rule rule) {
    std::shared_ptr<chat_server::Server> server;
    if (rule) {
        YOLK_TRY(chat_server::Server started, chat_server::Server::start({.rule = std::move(rule)}));
        server = std::make_shared<chat_server::Server>(std::move(started));
        options.base_url = server->base_url();
        options.key_variable.clear();
    }
    YOLK_TRY(chat::Client client, chat::Client::create(std::move(options)));
    // The server lives as long as whoever asks it.
    return hyper::Model(
        [server, ask = hyper::model_of(std::make_shared<const chat::Client>(std::move(client)))](
            const chat::Request& request, std::stop_token stop) { return ask(request, std::move(stop)); });
}

}  // namespace

std::optional<hyper::Models> open_models(int& argc, char**& argv, chat_server::Rule rule) {
    const std::optional<std::string> model = take_model(argc, argv);
    const char* const url = std::getenv("OPENAI_BASE_URL");
    chat::ClientOptions options{.model = model.value_or(kUsualModel)};
    if (url != nullptr && *url != '\0') {
        options.base_url = url;
        rule = {};
    } else if (model) {
        std::fprintf(stderr, "--model is for an endpoint: set OPENAI_BASE_URL, and OPENAI_API_KEY to its key.\n");
        return std::nullopt;
    }
    const Result<hyper::Model> made = open_model(std::move(options), std::move(rule));
    if (!made) {
        std::fprintf(stderr, "%s\n", made.error().message.c_str());
        return std::nullopt;
    }
    return hyper::Models().otherwise(*made);
}

std::string content_of(const Json& request, std::string_view role) {
    std::string content;
    for (const Json& message : request["messages"]) {
        if (message["role"].get<std::string>() == role) content = message["content"].get<std::string>();
    }
    return content;
}

double setting(const Json& request, const char* name, double otherwise) { return request.value(name, otherwise); }

double luck(std::string_view text) {
    std::uint32_t hash = 2166136261U;  // FNV-1a, whose last bits are mixed into the first
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    hash = (hash ^ (hash >> 15U)) * 2246822519U;
    return (hash ^ (hash >> 13U)) * 0x1p-32;
}

chat_server::Reply says(std::string content) { return {.content = std::move(content)}; }

std::optional<Reflection> reflection_in(const Json& request) {
    const std::string asked = content_of(request, "user");
    constexpr std::string_view kCalled = "which is called ", kBetween = "\n```\n\nThese are examples of the task";
    if (!has(asked, kCalled) || !has(asked, kBetween)) return std::nullopt;
    const std::string told = between(asked, kCalled, kBetween);  // NAME:\n```\nTEXT
    return Reflection{.component = told.substr(0, told.find(':')),
                      .text = told.substr(told.find("```\n") + 4),
                      .records = between(asked, kBetween, "\n```\n\nWrite a better instruction")};
}

chat_server::Reply improved(const Reflection& reflection, std::string_view sentence) {
    std::string text = reflection.text;
    if (!sentence.empty()) text.append(" ").append(sentence);
    return says("```\n" + text + "\n```");
}

}  // namespace text_example
