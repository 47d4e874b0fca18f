// SPDX-License-Identifier: Apache-2.0
// A file of its own: what never asks for it is linked without the client, and so without libcurl.
#include <utility>

#include "yolk/chat.hpp"
#include "yolk/models.hpp"

namespace yolk::hyper {

Model model_of(std::shared_ptr<const chat::Client> client) {
    return [client = std::move(client)](const chat::Request& request, std::stop_token stop) -> Result<chat::Answer> {
        if (client == nullptr) return bad_input("The model has no client; give model_of one.");
        return client->call(request, {.stop = std::move(stop)});
    };
}

}  // namespace yolk::hyper
