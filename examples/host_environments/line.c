/* SPDX-License-Identifier: Apache-2.0
   A point on a line, to be pushed to 0, as a program that Yolk trains a policy for:
       cc -O2 line.c -o line && yolk train --program ./line
   The protocol is described in docs/host_environments.md; this is for a little-endian machine. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { END = 0, LANES = 1, RESET = 2, STEP = 3, HELLO = 0x564E4559 };

static void send_message(uint32_t kind, const void* payload, uint32_t bytes) {
    const uint32_t header[2] = {kind, bytes};
    fwrite(header, sizeof(header), 1, stdout);
    fwrite(payload, 1, bytes, stdout);
    fflush(stdout);
}

struct lane {
    float position, speed;
};

int main(void) {
    static const char hello[] =
        "{\"protocol\": 1, \"name\": \"line\", \"observations\": 2, \"low\": [-1], \"high\": [1], \"max_steps\": 50, "
        "\"solved_return\": 45}";
    struct lane* lanes = NULL;
    float* floats = NULL; /* observations of all lanes, then rewards, then flags as integers */
    uint32_t count = 0, header[2];
    void* given = NULL;

    send_message(HELLO, hello, sizeof(hello) - 1);
    while (fread(header, sizeof(header), 1, stdin) == 1 && header[0] != END) {
        given = realloc(given, header[1] + 1);
        if (fread(given, 1, header[1], stdin) != header[1]) break;
        if (header[0] == LANES) {
            memcpy(&count, given, 4);
            lanes = calloc(count, sizeof(*lanes));
            floats = calloc(count, 16);
            send_message(LANES, NULL, 0);
            continue;
        }
        for (uint32_t i = 0; i < count; ++i) {
            uint32_t* const flag = (uint32_t*)floats + 3 * count + i;
            if (header[0] == RESET) {
                lanes[i].position = (float)(((const uint32_t*)given)[i] % 1001) / 500.0F - 1.0F;
                lanes[i].speed = 0.0F;
            } else if (((const uint32_t*)given)[count + i] != 0) { /* live */
                lanes[i].speed += 0.1F * ((const float*)given)[i];
                lanes[i].position += 0.2F * lanes[i].speed;
                floats[2 * count + i] = 1.0F - fabsf(lanes[i].position);
                *flag = fabsf(lanes[i].position) > 2.0F ? 1 : 0; /* 1: terminated, 2: truncated */
            }
            floats[2 * i] = lanes[i].position;
            floats[2 * i + 1] = lanes[i].speed;
        }
        send_message(header[0], floats, header[0] == RESET ? 8 * count : 16 * count);
    }
    return 0;
}
