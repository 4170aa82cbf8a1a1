/* cassandra_lexer.c: a Cassandra file as colons, stars and words, without comments; see cassandra.h. */
#include "io/cassandra.h"

#include <string.h>

/* Leaves the next token of the file in *token. */
static nadir_status read_token(nadir_cassandra_lexer *lexer, nadir_cassandra_token *token)
{
    nadir_status status = NADIR_OK;
    while (!lexer->at_end && (!nadir_cursor_skip_blanks(&lexer->rest) || *lexer->rest.at == '#')) {
        bool more;
        NADIR_CHECK(nadir_text_line(&lexer->text, &lexer->rest, &more));
        lexer->at_end = !more;
    }
    token->line = lexer->text.line > 0 ? lexer->text.line : 1;
    nadir_cursor word = {"end of file", NULL};
    if (lexer->at_end) {
        token->kind = NADIR_CASSANDRA_END;
        word.end = word.at + strlen(word.at);
    } else if (*lexer->rest.at == ':' || *lexer->rest.at == '*') {
        token->kind = *lexer->rest.at == ':' ? NADIR_CASSANDRA_COLON : NADIR_CASSANDRA_STAR;
        word = (nadir_cursor){lexer->rest.at, lexer->rest.at + 1};
        lexer->rest.at++;
    } else {
        token->kind = NADIR_CASSANDRA_WORD;
        (void)nadir_cursor_take_word(&lexer->rest, ":*#", &word);
    }
    token->length = (size_t)(word.end - word.at);
    if (token->length > NADIR_CASSANDRA_WORD_LENGTH) {
        return nadir_text_fail(&lexer->text, "'%.*s...' is longer than any name or number (%d bytes)",
                               NADIR_WORD(word), NADIR_CASSANDRA_WORD_LENGTH);
    }
    memcpy(token->text, word.at, token->length);
    token->text[token->length] = '\0';
cleanup:
    return status;
}

nadir_status nadir_cassandra_open(nadir_context *context, const char *path, nadir_cassandra_lexer *lexer)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_text_open(context, path, &lexer->text));
    lexer->bytes = lexer->text.input.bytes;
    lexer->rest = (nadir_cursor){path, path};
    NADIR_CHECK(read_token(lexer, &lexer->tokens[0]));
    NADIR_CHECK(read_token(lexer, &lexer->tokens[1]));
cleanup:
    return status;
}

void nadir_cassandra_close(nadir_cassandra_lexer *lexer)
{
    nadir_text_close(&lexer->text);
}

const nadir_cassandra_token *nadir_cassandra_current(const nadir_cassandra_lexer *lexer)
{
    return &lexer->tokens[lexer->current];
}

nadir_status nadir_cassandra_advance(nadir_cassandra_lexer *lexer)
{
    lexer->current = 1 - lexer->current;
    return read_token(lexer, &lexer->tokens[1 - lexer->current]);
}

nadir_text *nadir_cassandra_at(nadir_cassandra_lexer *lexer, int64_t line)
{
    lexer->text.line = line;
    return &lexer->text;
}

nadir_text *nadir_cassandra_here(nadir_cassandra_lexer *lexer)
{
    return nadir_cassandra_at(lexer, nadir_cassandra_current(lexer)->line);
}

bool nadir_cassandra_is(const nadir_cassandra_token *token, const char *word)
{
    return token->kind == NADIR_CASSANDRA_WORD && strcmp(token->text, word) == 0;
}

bool nadir_cassandra_is_statement(const nadir_cassandra_lexer *lexer)
{
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    const nadir_cassandra_token *next = &lexer->tokens[1 - lexer->current];
    if (token->kind != NADIR_CASSANDRA_WORD) {
        return token->kind == NADIR_CASSANDRA_END;
    }
    const bool digit = token->text[0] >= '0' && token->text[0] <= '9'; /* a number is never one */
    return (next->kind == NADIR_CASSANDRA_COLON && !digit) ||
           (nadir_cassandra_is(token, "start") &&
            (nadir_cassandra_is(next, "include") || nadir_cassandra_is(next, "exclude")));
}

nadir_status nadir_cassandra_take_colon(nadir_cassandra_lexer *lexer, const char *after)
{
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    if (token->kind != NADIR_CASSANDRA_COLON) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "expected ':' after '%.60s', found '%.60s'",
                               after, token->text);
    }
    return nadir_cassandra_advance(lexer);
}

nadir_status nadir_cassandra_take_number(nadir_cassandra_lexer *lexer, const char *what, double *value)
{
    const nadir_cassandra_token *token = nadir_cassandra_current(lexer);
    const nadir_cursor word = {token->text, token->text + token->length};
    if (token->kind != NADIR_CASSANDRA_WORD || !nadir_cursor_is_double(word, value)) {
        return nadir_text_fail(nadir_cassandra_here(lexer), "expected a number (%s), found '%.60s'", what,
                               token->text);
    }
    return nadir_cassandra_advance(lexer);
}
