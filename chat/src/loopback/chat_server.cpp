// SPDX-License-Identifier: Apache-2.0
#include "yolk/chat_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

namespace yolk::chat_server {
namespace {

constexpr std::size_t kMostHeadBytes = 64 * 1024;

class PlainStream final : public Stream {
   public:
    explicit PlainStream(int socket) : socket_(socket) {}
    long read(char* bytes, std::size_t count) override { return ::recv(socket_, bytes, count, 0); }
    bool write(std::string_view bytes) override {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }

   private:
    int socket_;
};

std::size_t body_size(std::string_view head) {
    std::string small(head);
    std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::string_view kName = "\r\ncontent-length: ";
    const std::size_t at = small.find(kName);
    std::size_t size = 0;
    if (at != std::string::npos) std::from_chars(small.data() + at + kName.size(), small.data() + small.size(), size);
    return size;
}

struct Incoming {
    std::string head;
    std::string body;
};

/// The next request; `rest` keeps what came after it. None at the end of the connection.
std::optional<Incoming> read_request(Stream& stream, std::string& rest) {
    char bytes[16384];
    std::size_t end = std::string::npos;
    while ((end = rest.find("\r\n\r\n")) == std::string::npos) {
        const long count = stream.read(bytes, sizeof bytes);
        if (count <= 0 || rest.size() > kMostHeadBytes) return std::nullopt;
        rest.append(bytes, static_cast<std::size_t>(count));
    }
    Incoming incoming{.head = rest.substr(0, end + 2), .body = {}};
    const std::size_t whole = end + 4 + body_size(incoming.head);
    while (rest.size() < whole) {
        const long count = stream.read(bytes, sizeof bytes);
        if (count <= 0) return std::nullopt;
        rest.append(bytes, static_cast<std::size_t>(count));
    }
    incoming.body = rest.substr(end + 4, whole - end - 4);
    rest.erase(0, whole);
    return incoming;
}

std::string completion(const Json& request, const Reply& reply) {
    const std::size_t prompt = to_line(request.value("messages", Json::array())).size() / 4;
    const std::size_t completion_tokens = reply.content.size() / 4 + 1;
    const Json message =
        reply.message.is_null() ? Json{{"role", "assistant"}, {"content", reply.content}} : reply.message;
    return to_line(
        {{"id", "chatcmpl-loopback"},
         {"object", "chat.completion"},
         {"model", request.value("model", "")},
         {"choices", Json::array({{{"index", 0}, {"message", message}, {"finish_reason", reply.finish_reason}}})},
         {"usage",
          {{"prompt_tokens", prompt},
           {"completion_tokens", completion_tokens},
           {"total_tokens", prompt + completion_tokens}}}});
}

std::string head_of(const Reply& reply, std::optional<std::size_t> length) {
    std::string head = fmt::format("HTTP/1.1 {} Reply\r\nContent-Type: application/json\r\n", reply.status);
    for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
    if (length) head += fmt::format("Content-Length: {}\r\n", *length);
    return head + "\r\n";
}

void write_endlessly(Stream& stream, std::string_view first, const std::string& again) {
    if (!stream.write(first)) return;
    while (stream.write(again)) {}
}

/// Whether the connection goes on.
bool write_reply(Stream& stream, const Reply& reply, const std::string& body) {
    const std::size_t half = body.size() / 2;
    switch (reply.fault) {
        case Fault::None: return stream.write(head_of(reply, body.size()) + body);
        case Fault::Closed: return false;
        case Fault::Truncated: return stream.write(head_of(reply, body.size()) + body.substr(0, half)), false;
        case Fault::LengthTooShort: return stream.write(head_of(reply, half) + body);
        case Fault::LengthTooLong: return stream.write(head_of(reply, body.size() + 100) + body);
        case Fault::Endless: return write_endlessly(stream, head_of(reply, {}), std::string(65536, ' ')), false;
        case Fault::EndlessHeaders:
            return write_endlessly(stream, "HTTP/1.1 200 Reply\r\n", "X-More: and more\r\n"), false;
        case Fault::Garbage: return stream.write("\x01\x02 this is not HTTP\n\n"), false;
    }
    return false;
}

}  // namespace

Reply refuse(int status, std::string message, std::string parameter, std::string code) {
    Json error = {{"message", std::move(message)}, {"type", "error"}};
    error["param"] = parameter.empty() ? Json() : Json(std::move(parameter));
    error["code"] = code.empty() ? Json() : Json(std::move(code));
    return {.status = status, .body = to_line({{"error", std::move(error)}})};
}

struct Server::Impl {
    Options options;
    int listener = -1;
    std::uint16_t port = 0;
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;  // under the mutex, as all below
    std::set<int> sockets;
    Counts counts;
    std::uint32_t answering = 0;
    std::deque<std::string> kept;
    std::thread accepting;

    void accept_all() {
        while (true) {
            const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
            const std::lock_guard lock(mutex);
            if (stopping) {
                if (socket >= 0) ::close(socket);
                return;
            }
            if (socket < 0) continue;
            const int on = 1;
            ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            sockets.insert(socket);
            ++counts.connections;
            std::thread([this, socket] { serve(socket); }).detach();  // the destructor waits for `sockets` to be empty
        }
    }
    void serve(int socket) {
        {
            const std::unique_ptr<Stream> stream =
                options.wrap ? options.wrap(socket) : std::make_unique<PlainStream>(socket);
            std::string rest;
            while (stream) {
                const std::optional<Incoming> incoming = read_request(*stream, rest);
                if (!incoming || !answer(*stream, *incoming)) break;
            }
        }
        const std::lock_guard lock(mutex);
        ::close(socket);
        sockets.erase(socket);
        changed.notify_all();
    }
    bool answer(Stream& stream, const Incoming& incoming) {
        {
            const std::lock_guard lock(mutex);
            ++counts.requests;
            counts.most_at_once = std::max(counts.most_at_once, ++answering);
            kept.push_back(incoming.head + "\r\n" + incoming.body);
            if (kept.size() > options.remembered) kept.pop_front();
        }
        const Result<Json> request = parse_json(incoming.body, "The request");
        const std::string_view path = std::string_view(incoming.head).substr(0, incoming.head.find_first_of("?\r"));
        const bool known = path.ends_with("/chat/completions") || path.ends_with("/chat/completions HTTP/1.1");
        const Reply reply = !known     ? refuse(404, "no such path")
                            : !request ? refuse(400, "not JSON")
                                       : options.rule(*request);
        const std::string body = reply.body ? *reply.body : completion(*request, reply);
        {
            std::unique_lock lock(mutex);
            changed.wait_for(lock, reply.delay, [&] { return stopping; });
            --answering;
        }
        return write_reply(stream, reply, body);
    }
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&& other) noexcept = default;
Server& Server::operator=(Server&& other) noexcept {
    impl_.swap(other.impl_);  // the one that was here ends with `other`
    return *this;
}

Server::~Server() {
    if (!impl_) return;
    std::unique_lock lock(impl_->mutex);
    impl_->stopping = true;
    impl_->changed.notify_all();
    ::shutdown(impl_->listener, SHUT_RDWR);
    for (const int socket : impl_->sockets) ::shutdown(socket, SHUT_RDWR);
    impl_->changed.wait(lock, [&] { return impl_->sockets.empty(); });
    lock.unlock();
    impl_->accepting.join();
    ::close(impl_->listener);
}

Result<Server> Server::start(Options options) {
    auto impl = std::make_unique<Impl>();
    impl->options = std::move(options);
    impl->listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (impl->listener < 0 || ::bind(impl->listener, plain, size) != 0 || ::listen(impl->listener, 1024) != 0 ||
        ::getsockname(impl->listener, plain, &size) != 0)
        return io_error("A port of the loopback interface cannot be opened.", errno);
    impl->port = ntohs(address.sin_port);
    impl->accepting = std::thread([raw = impl.get()] { raw->accept_all(); });
    return Server(std::move(impl));
}

std::uint16_t Server::port() const { return impl_->port; }
std::string Server::base_url(std::string_view scheme) const {
    return fmt::format("{}://127.0.0.1:{}/v1", scheme, impl_->port);
}
Counts Server::counts() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->counts;
}
std::vector<std::string> Server::requests() const {
    const std::lock_guard lock(impl_->mutex);
    return {impl_->kept.begin(), impl_->kept.end()};
}

}  // namespace yolk::chat_server
