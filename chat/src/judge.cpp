// SPDX-License-Identifier: Apache-2.0
#include "judge.hpp"

#include <fmt/format.h>

#include <ctime>

#include "text.hpp"
#include "yolk/core/memory.hpp"

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

Verdict judge_status(const Received& received, const Endpoint& endpoint) {
    const long status = received.status;
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

Verdict judge_content(const ServerJson& choice, const ServerJson& message, Answer answer, const Endpoint& endpoint,
                      const std::optional<Schema>& schema) {
    const Usage usage = answer.usage;
    Verdict verdict;
    const auto content = message.find("content");
    if (const std::string refusal = string_in(message, "refusal"); !refusal.empty()) {
        verdict = failed_as(Judged::Final, ErrorKind::Failed,
                            fmt::format("The model refused: {}.", excerpt(endpoint.key.removed_from(refusal))));
    } else if (content == message.end() || !content->is_string()) {
        verdict = failed_as(
            Judged::Retry, ErrorKind::Io,
            fmt::format("A reply of {} has no text in choices[0].message.content (finish_reason {}).", endpoint.url,
                        excerpt(endpoint.key.removed_from(string_in(choice, "finish_reason")), 60)));
    } else if (endpoint.key.is_in(content->get_ref<const std::string&>())) {
        verdict = failed_as(Judged::Final, ErrorKind::Io,
                            fmt::format("A reply of {} contains the key, and is not used.", endpoint.url));
    } else {
        answer.content = content->get<std::string>();
        answer.finish_reason = endpoint.key.removed_from(string_in(choice, "finish_reason"));
        Result<Json> value = schema ? parse_reply(*schema, answer.content) : Result<Json>(Json());
        if (value)
            return {.kind = Judged::Answered, .answer = [&] {
                        answer.value = *std::move(value);
                        return answer;
                    }()};
        std::string text = value.error().message;
        if (answer.finish_reason == "length") text += " It was cut at max_tokens.";
        verdict = failed_as(Judged::Schema, ErrorKind::Failed, endpoint.key.removed_from(text));
    }
    verdict.answer.usage = usage;
    return verdict;
}

}  // namespace

Verdict judge(const Received& received, const Endpoint& endpoint, const std::optional<Schema>& schema,
              std::uint64_t most_reply_bytes) {
    if (received.code != CURLE_OK) return judge_broken(received, endpoint, most_reply_bytes);
    if (received.status != 200) return judge_status(received, endpoint);
    const Result<ServerJson> parsed = parse_sorted_json(received.body, "The reply");
    const ServerJson body = parsed.value_or(nullptr);
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
