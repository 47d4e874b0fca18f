// SPDX-License-Identifier: Apache-2.0
#include "judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "text.hpp"
#include "yolk/internal/core/memory.hpp"

namespace yolk::chat {
namespace {

using ServerJson = SortedJson;
using Judged = Verdict::Kind;

Verdict failed_as(Judged kind, ErrorKind error, std::string message, long status = 0) {
    return {.kind = kind, .error = {error, std::move(message), static_cast<int>(status)}};
}

std::string string_in(const ServerJson& object, const char* name) {
    const auto found = object.find(name);
    return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>()
                                                                             : std::string();
}

/// The words of an error reply in the forms that servers use, with the parameter that was refused. A body in no known
/// form is given by its beginning.
std::string server_words(const Received& received, const Secret& key) {
    const ServerJson body = parse_sorted_json(received.body, "The reply").value_or(nullptr);
    const ServerJson* error = &body;
    if (body.is_object() && body.contains("error")) error = &body["error"];
    std::string words = error->is_string() ? error->get<std::string>() : string_in(*error, "message");
    if (words.empty()) words = string_in(*error, "detail");
    if (words.empty()) words = received.body;
    const std::string parameter = string_in(*error, "param");
    std::string text = excerpt(key.removed_from(words), 600);
    if (!parameter.empty()) text += fmt::format(" (the parameter {})", excerpt(key.removed_from(parameter), 60));
    return text;
}

/// An account without money is refused by 429, and waiting does not fill it.
bool out_of_quota(const std::string& body) {
    const ServerJson parsed = parse_sorted_json(body, "The reply").value_or(nullptr);
    return parsed.is_object() && parsed.contains("error") && string_in(parsed["error"], "code") == "insufficient_quota";
}

Verdict judge_broken(const Received& received, const Endpoint& endpoint, std::uint64_t most_reply_bytes) {
    const std::string why = endpoint.key.removed_from(received.curl_error);
    if (received.too_large)
        return failed_as(Judged::Final, ErrorKind::Io,
                         fmt::format("The reply of {} is larger than {}; raise most_reply_bytes if it is meant.",
                                     endpoint.url, size_text(most_reply_bytes)));
    switch (received.code) {
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CACERT_BADFILE:
        case CURLE_SSL_ISSUER_ERROR:
            return failed_as(
                Judged::Final, ErrorKind::Io,
                fmt::format("The certificate of {} is not trusted ({}), and nothing was sent. If the server "
                            "is the right one, give its authority by ClientOptions::certificates.",
                            endpoint.url, why));
        case CURLE_URL_MALFORMAT:
        case CURLE_NOT_BUILT_IN:
        case CURLE_OUT_OF_MEMORY:
            return failed_as(Judged::Final, ErrorKind::Io, fmt::format("{} cannot be asked: {}.", endpoint.url, why));
        case CURLE_OPERATION_TIMEDOUT:
            return failed_as(Judged::Retry, ErrorKind::Failed,
                             fmt::format("{} did not answer in time ({}).", endpoint.url, why));
        default:
            return failed_as(Judged::Retry, ErrorKind::Io,
                             fmt::format("The exchange with {} broke: {}.", endpoint.url, why));
    }
}

Verdict judge_status(const Received& received, long status, const Endpoint& endpoint) {
    if (status >= 300 && status < 400) {
        const std::string place(find_header(received.headers, "location").value_or("nowhere"));
        return failed_as(Judged::Final, ErrorKind::BadInput,
                         fmt::format("{} redirects to {} (status {}). Redirects are not followed, so that the key goes "
                                     "nowhere else; if that is the right server, name it in base_url.",
                                     endpoint.url, excerpt(endpoint.key.removed_from(place)), status),
                         status);
    }
    const std::string words = server_words(received, endpoint.key);
    const std::string message = fmt::format("{} answered with status {}: {}.", endpoint.url, status, words);
    const bool again = status == 408 || (status == 429 && !out_of_quota(received.body)) || status >= 500;
    if (!again) return failed_as(Judged::Final, ErrorKind::BadInput, message, status);
    Verdict verdict = failed_as(Judged::Retry, ErrorKind::Io, message, status);
    verdict.delay_seconds = server_delay(received.headers, std::time(nullptr));
    return verdict;
}

std::uint64_t count_in(const ServerJson& usage, const char* name) {
    const auto found = usage.find(name);
    return usage.is_object() && found != usage.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

/// choices[0] and its message, where they are objects; else null.
std::pair<const ServerJson*, const ServerJson*> first_choice(const ServerJson& body) {
    if (!body.is_object() || !body.contains("choices")) return {};
    const ServerJson& choices = body["choices"];
    if (!choices.is_array() || choices.empty() || !choices[0].is_object() || !choices[0].contains("message")) return {};
    const ServerJson& message = choices[0]["message"];
    if (!message.is_object()) return {};
    return {&choices[0], &message};
}

/// What the answer is in any of the forms that servers send.
struct Said {
    std::optional<std::string> text{};  ///< nothing where the reply has no text
    std::string refusal{};
    std::string tool{};
};

/// A part of a content that is a list. Thoughts, pictures and kinds of other servers are not the answer.
void add_part(Said& said, const ServerJson& part) {
    if (part.is_string()) {
        said.text = said.text.value_or("") + part.get<std::string>();
    } else if (part.is_object()) {
        const std::string type = string_in(part, "type");
        if (type == "refusal") said.refusal += string_in(part, "refusal");
        if (type.empty() || type == "text" || type == "output_text")
            said.text = said.text.value_or("") + string_in(part, "text");
    }
}

Said said_in(const ServerJson& message) {
    Said said{.refusal = string_in(message, "refusal")};
    if (const auto content = message.find("content"); content != message.end()) {
        if (content->is_string()) said.text = content->get<std::string>();
        if (content->is_array()) {
            for (const ServerJson& part : *content) add_part(said, part);
        }
    }
    if (const auto calls = message.find("tool_calls"); calls != message.end() && calls->is_array() && !calls->empty())
        said.tool = (*calls)[0].is_object() && (*calls)[0].contains("function")
                        ? string_in((*calls)[0]["function"], "name")
                        : std::string("without a name");
    if (const auto call = message.find("function_call"); call != message.end() && call->is_object())
        said.tool = string_in(*call, "name");
    return said;
}

std::string in_small_letters(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
    return text;
}

bool is_cut(const std::string& finish_reason) {
    const std::string reason = in_small_letters(finish_reason);
    return reason == "length" || reason == "max_tokens";
}

/// Why a reply without an answer will be the same again; nothing: the reason does not say so.
std::optional<std::string> lasting_reason(const std::string& finish_reason, const Said& said,
                                          const Endpoint& endpoint) {
    if (is_cut(finish_reason)) {
        return "The limit of tokens was reached before the answer was whole; raise max_tokens. A model that thinks "
               "first needs tokens for that as well.";
    }
    const std::string reason = in_small_letters(finish_reason);
    if (reason == "content_filter" || reason == "safety")
        return fmt::format("The content filter of {} withheld the answer.", endpoint.url);
    if (!said.tool.empty()) {
        return fmt::format("The model called the tool {} in place of an answer; no tools are offered to it.",
                           excerpt(endpoint.key.removed_from(said.tool), 60));
    }
    return std::nullopt;
}

/// A reply without any text.
Verdict judge_nothing(const std::string& finish_reason, const Said& said, const Endpoint& endpoint) {
    if (auto reason = lasting_reason(finish_reason, said, endpoint))
        return failed_as(Judged::Final, ErrorKind::Failed, *std::move(reason));
    return failed_as(finish_reason == "error" ? Judged::Retry : Judged::Unusable, ErrorKind::Io,
                     fmt::format("A reply of {} has no text in choices[0].message.content (finish_reason {}).",
                                 endpoint.url, excerpt(endpoint.key.removed_from(finish_reason), 60)));
}

Verdict judge_text(Answer answer, const Said& said, const Endpoint& endpoint, const std::optional<Schema>& schema) {
    Result<Json> value = schema ? parse_reply(*schema, answer.content) : Result<Json>(Json());
    if (value) {
        answer.value = *std::move(value);
        return {.kind = Judged::Answered, .answer = std::move(answer)};
    }
    const std::string text = endpoint.key.removed_from(value.error().message);
    if (const auto reason = lasting_reason(answer.finish_reason, said, endpoint))
        return failed_as(Judged::Final, ErrorKind::Failed, fmt::format("{} {}", *reason, text));
    return failed_as(Judged::Schema, ErrorKind::Failed, text);
}

Verdict judge_content(const ServerJson& choice, const ServerJson& message, Answer answer, const Endpoint& endpoint,
                      const std::optional<Schema>& schema) {
    const Usage usage = answer.usage;
    const Said said = said_in(message);
    const std::string finish_reason = string_in(choice, "finish_reason");
    Verdict verdict;
    if (!said.refusal.empty()) {
        verdict = failed_as(Judged::Final, ErrorKind::Failed,
                            fmt::format("The model refused: {}.", excerpt(endpoint.key.removed_from(said.refusal))));
    } else if (!said.text ||
               (said.text->empty() && !is_cut(finish_reason) && lasting_reason(finish_reason, said, endpoint))) {
        verdict = judge_nothing(finish_reason, said, endpoint);
    } else if (endpoint.key.is_in(*said.text)) {
        verdict = failed_as(Judged::Final, ErrorKind::Io,
                            fmt::format("A reply of {} contains the key, and is not used.", endpoint.url));
    } else {
        answer.content = *said.text;
        answer.finish_reason = endpoint.key.removed_from(finish_reason);
        verdict = judge_text(std::move(answer), said, endpoint, schema);
    }
    verdict.answer.usage = usage;
    return verdict;
}

/// Some servers, and proxies before them, send errors with status 200. The status that such a body names; 500 where it
/// names none; nothing: it is no error.
std::optional<long> status_in(const ServerJson& body, const std::string& text) {
    if (!body.is_object() || body.contains("choices") || !body.contains("error") || body["error"].is_null())
        return std::nullopt;
    if (out_of_quota(text)) return 429;
    const ServerJson& error = body["error"];
    const auto code = error.is_object() ? error.find("code") : error.end();
    if (!error.is_object() || code == error.end() || !code->is_number_unsigned()) return 500;
    const std::uint64_t status = code->get<std::uint64_t>();
    return status >= 400 && status < 600 ? static_cast<long>(status) : 500;
}

}  // namespace

Verdict judge(const Received& received, const Endpoint& endpoint, const std::optional<Schema>& schema,
              std::uint64_t most_reply_bytes) {
    if (received.code != CURLE_OK) return judge_broken(received, endpoint, most_reply_bytes);
    if (received.status != 200) return judge_status(received, received.status, endpoint);
    const Result<ServerJson> parsed = parse_sorted_json(received.body, "The reply");
    const ServerJson body = parsed.value_or(nullptr);
    if (const auto status = status_in(body, received.body)) return judge_status(received, *status, endpoint);
    const auto [choice, message] = first_choice(body);
    if (message == nullptr)
        return failed_as(Judged::Retry, ErrorKind::Io,
                         fmt::format("The reply of {} is {}, not one of chat completions. It begins: {}.", endpoint.url,
                                     !parsed ? "not JSON" : "JSON without choices[0].message",
                                     excerpt(endpoint.key.removed_from(received.body))));
    Answer answer;
    if (body.contains("usage"))
        answer.usage = {.prompt_tokens = count_in(body["usage"], "prompt_tokens"),
                        .completion_tokens = count_in(body["usage"], "completion_tokens")};
    return judge_content(*choice, *message, std::move(answer), endpoint, schema);
}

}  // namespace yolk::chat
