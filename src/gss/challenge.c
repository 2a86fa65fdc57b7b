/* Reading WWW-Authenticate. Layer 2 (gss); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A line may hold several challenges, and each of them commas of its own: a new challenge begins where behind a comma stands a word that no "=" follows. A token68 has
 * "=" at its end only, and no commas. */
#include "challenge.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cleanup.h"

struct span {
    const char *at;
    size_t n;
};

void challenge_done(struct challenge *challenge) {
    if (!challenge)
        return;
    free(challenge->token);
    *challenge = (struct challenge){0};
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool is_token68(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr("-._~+/=", c));
}

static struct span trim(struct span s) {
    while (s.n && is_blank(s.at[0]))
        s = (struct span){s.at + 1, s.n - 1};
    while (s.n && is_blank(s.at[s.n - 1]))
        s.n--;
    return s;
}

/* Up to the next comma that is in no quoted string. */
static struct span take_part(struct span *rest) {
    struct span part = {rest->at, 0};
    bool is_quoted = false;
    for (; part.n < rest->n && (is_quoted || rest->at[part.n] != ','); part.n++) {
        if (is_quoted && rest->at[part.n] == '\\' && part.n + 1 < rest->n)
            part.n++;
        else if (rest->at[part.n] == '"')
            is_quoted = !is_quoted;
    }
    rest->at += part.n < rest->n ? part.n + 1 : part.n;
    rest->n -= part.n < rest->n ? part.n + 1 : part.n;
    return trim(part);
}

static size_t word_length(struct span s) {
    size_t n = 0;
    while (n < s.n && !is_blank(s.at[n]) && s.at[n] != '=')
        n++;
    return n;
}

/* A parameter of the challenge before: name, "=", value. */
static bool is_parameter(struct span part) {
    size_t n = word_length(part);
    while (n < part.n && is_blank(part.at[n]))
        n++;
    return n < part.n && part.at[n] == '=';
}

static void take_token(struct challenge *challenge, struct span token) {
    bool is_good = token.n <= CHALLENGE_TOKEN_CHARS_MAX;
    for (size_t i = 0; is_good && i < token.n; i++)
        is_good = is_token68(token.at[i]);
    challenge->is_twice = challenge->is_twice || challenge->token;
    if (!is_good || challenge->token) {
        challenge->is_bad = challenge->is_bad || !is_good;
        return;
    }
    challenge->token = strndup(token.at, token.n);
    challenge->is_bad = challenge->is_bad || !challenge->token;
}

static void take_challenge(struct challenge *challenge, struct span part) {
    static const char scheme[] = "Negotiate";
    const size_t n = word_length(part);
    const struct span rest = trim((struct span){part.at + n, part.n - n});
    challenge->is_there = true;
    if (n != sizeof(scheme) - 1 || strncasecmp(part.at, scheme, n) != 0)
        return;
    challenge->negotiate = true;
    if (rest.n)
        take_token(challenge, rest);
}

void challenge_read(struct challenge *challenge, const char *line, size_t n) {
    static const char name[] = "WWW-Authenticate:";
    const size_t head = sizeof(name) - 1;
    struct span rest;
    if (n < head || strncasecmp(line, name, head) != 0)
        return;
    rest = (struct span){line + head, n - head};
    while (rest.n) {
        struct span part = take_part(&rest);
        if (part.n && !is_parameter(part))
            take_challenge(challenge, part);
    }
}
