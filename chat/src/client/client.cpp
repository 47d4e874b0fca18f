// SPDX-License-Identifier: Apache-2.0
#include "yolk/chat.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cmath>

#include "driver.hpp"
#include "request.hpp"

namespace yolk::chat {
namespace {

Result<void> check_limit(const std::optional<double>& limit, const char* name) {
    if (limit && !(std::isfinite(*limit) && *limit > 0.0))
        return bad_input("{} is {}; it must be above 0. Leave it out for no limit.", name, *limit);
    return {};
}

Result<void> check_options(const ClientOptions& options) {
    if (options.timeout.count() < 1 || options.attempt_timeout.count() < 0)
        return bad_input("timeout is {} ms and attempt_timeout {} ms; at least 1 and 0 are allowed.",
                         options.timeout.count(), options.attempt_timeout.count());
    if (options.attempts == 0 || options.schema_attempts == 0 || options.most_at_once == 0)
        return bad_input("attempts is {}, schema_attempts {}, most_at_once {}; each must be at least 1.",
                         options.attempts, options.schema_attempts, options.most_at_once);
    if (options.most_reply_bytes == 0) return bad_input("most_reply_bytes is 0, and every reply is larger.");
    if (!(options.backoff_seconds >= 0.0 && std::isfinite(options.backoff_seconds)))
        return bad_input("backoff_seconds is {}; it must be 0 or more.", options.backoff_seconds);
    YOLK_TRY_VOID(check_limit(options.requests_per_minute, "requests_per_minute"));
    return check_limit(options.tokens_per_minute, "tokens_per_minute");
}

bool curl_is_ready() {
    static const bool kReady = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    return kReady;
}

}  // namespace

struct PendingCall::Shared {
    CallStatePtr state = std::make_shared<CallState>();
    std::weak_ptr<Driver> driver;
};

bool PendingCall::ready() const { return shared_->state->has_ended(); }
Result<Answer> PendingCall::wait() const { return shared_->state->wait(); }
void PendingCall::cancel() const {
    shared_->state->cancel = true;
    if (const auto driver = shared_->driver.lock()) driver->look_for_cancelled();
}

struct Client::Impl {
    ClientOptions options;
    std::shared_ptr<Driver> driver;

    /// Everything that an answer depends on. The key is not part of it: whoever asks, the answer is the same.
    [[nodiscard]] Result<Outgoing> outgoing(const Request& request, const CallOptions& call) const {
        YOLK_TRY(std::string body, request_body(request, {.model = options.model,
                                                          .max_tokens_name = options.max_tokens_name,
                                                          .key = driver->endpoint().key}));
        Outgoing result{.body = std::move(body),
                        .schema = request.schema,
                        .identity = {},
                        .refresh = call.cache == CacheUse::Refresh,
                        .tokens = estimated_tokens(request)};
        if (!options.cache.empty() && call.cache != CacheUse::Off)
            result.identity = fmt::format("{}{}\n{}\n{}", driver->endpoint().url, driver->endpoint().query,
                                          request.sample, result.body);
        return result;
    }
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;
Client::Client(Client&& other) noexcept = default;
Client& Client::operator=(Client&& other) noexcept = default;

Result<Client> Client::create(ClientOptions options) {
    YOLK_TRY_VOID(check_options(options));
    if (!curl_is_ready()) return unsupported(std::string("libcurl could not be started."));
    YOLK_TRY(Endpoint endpoint, make_endpoint(options));
    std::optional<AnswerCache> cache;
    if (!options.cache.empty()) {
        YOLK_TRY(cache, AnswerCache::open(options.cache));
    }
    auto impl = std::make_unique<Impl>();
    impl->driver = std::make_shared<Driver>(options, std::move(endpoint), std::move(cache));
    impl->options = std::move(options);
    return Client(std::move(impl));
}

PendingCall Client::start(const Request& request, const CallOptions& options) const {
    auto shared = std::make_shared<PendingCall::Shared>();
    shared->driver = impl_->driver;
    Result<Outgoing> outgoing = impl_->outgoing(request, options);
    if (outgoing) {
        impl_->driver->start(*std::move(outgoing), shared->state);
    } else {
        shared->state->end(std::move(outgoing).error());
    }
    return PendingCall(std::move(shared));
}

Result<Answer> Client::call(const Request& request, const CallOptions& options) const {
    const PendingCall pending = start(request, options);
    const std::stop_callback on_stop(options.stop, [&] { pending.cancel(); });
    return pending.wait();
}

std::vector<Result<Answer>> Client::call_all(std::span<const Request> requests, const CallOptions& options) const {
    std::vector<PendingCall> pending;
    pending.reserve(requests.size());
    for (const Request& request : requests) pending.push_back(start(request, options));
    const std::stop_callback on_stop(options.stop, [&] {
        for (const PendingCall& call : pending) call.cancel();
    });
    std::vector<Result<Answer>> results;
    results.reserve(requests.size());
    for (const PendingCall& call : pending) results.push_back(call.wait());
    return results;
}

CallCounts Client::counts() const { return impl_->driver->counts(); }
const ClientOptions& Client::options() const noexcept { return impl_->options; }

}  // namespace yolk::chat
