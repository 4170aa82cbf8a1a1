/*
 * prism_labels.c: the companion file with labels of the PRISM format. Only `init` is of use here: it gives
 * the initial distribution, uniform over the states that have it.
 *
 *     PRISM                            Storm
 *     0="init" 1="deadlock"            #DECLARATION
 *     0: 0                             init deadlock
 *     7: 1                             #END
 *                                      0 init
 *                                      7 deadlock
 *
 * Other lines of PRISM's that begin with # are comments.
 */
#include "io/prism.h"

#include "io/labels.h"

#include <string.h>

typedef struct label_reader {
    nadir_text text;
    nadir_builder *builder;
    nadir_initial_states initial;
    bool numbered;   /* PRISM's style: labels are numbers */
    int64_t init;    /* the number of init, -1: not declared */
    int64_t largest; /* number of a label, -1: none */
} label_reader;

/* 0="init" 1="deadlock" */
static nadir_status declare_numbered(label_reader *reader, nadir_cursor line)
{
    reader->numbered = true;
    while (nadir_cursor_skip_blanks(&line)) {
        int64_t number;
        const nadir_cursor start = line;
        const bool begun = nadir_cursor_take_integer(&line, &number) && number >= 0 &&
                           nadir_cursor_take_char(&line, '=') && nadir_cursor_take_char(&line, '"');
        const char *quote = begun ? memchr(line.at, '"', (size_t)(line.end - line.at)) : NULL;
        if (quote == NULL) {
            return nadir_text_fail(
                &reader->text,
                "found %.*s; expected names of labels such as 0=\"init\" 1=\"deadlock\", or "
                "#DECLARATION",
                NADIR_WORD(start));
        }
        const nadir_cursor name = {line.at, quote};
        reader->init = nadir_cursor_equals(name, "init") ? number : reader->init;
        reader->largest = number > reader->largest ? number : reader->largest;
        line.at = quote + 1;
    }
    return NADIR_OK;
}

/* Words up to #END, which may stand on any line. */
static nadir_status declare_named(label_reader *reader, nadir_cursor line)
{
    nadir_status status = NADIR_OK;
    nadir_cursor word;
    bool more = true;
    while (more) {
        while (nadir_cursor_take_word(&line, "", &word)) {
            if (nadir_cursor_equals(word, "#END")) {
                return NADIR_OK;
            }
        }
        NADIR_CHECK(nadir_text_line(&reader->text, &line, &more));
    }
    return nadir_text_fail(&reader->text, "the file ends before #END");
cleanup:
    return status;
}

static nadir_status read_declaration(label_reader *reader)
{
    nadir_status status = NADIR_OK;
    nadir_cursor line;
    bool more;
    do {
        nadir_cursor word;
        NADIR_CHECK(nadir_text_line(&reader->text, &line, &more));
        nadir_cursor rest = line;
        if (more && nadir_cursor_take_word(&rest, "", &word)) {
            if (nadir_cursor_equals(word, "#DECLARATION")) {
                return declare_named(reader, rest);
            }
            if (*word.at != '#') {
                return declare_numbered(reader, line);
            }
        }
    } while (more);
    return nadir_text_fail(&reader->text, "the file is empty; expected labels of states");
cleanup:
    return status;
}

/* The labels of one state; *initial when init is among them. */
static nadir_status read_labels_of_state(label_reader *reader, nadir_cursor line, int64_t *state,
                                         bool *initial)
{
    nadir_cursor rest = line;
    nadir_cursor word;
    *initial = false;
    if (!nadir_cursor_take_integer(&rest, state) ||
        (reader->numbered && !nadir_cursor_take_char(&rest, ':'))) {
        return nadir_text_fail(&reader->text, "found %.*s; expected a state%s and its labels",
                               NADIR_WORD(line), reader->numbered ? ", a colon" : "");
    }
    while (nadir_cursor_take_word(&rest, "", &word)) {
        int64_t number;
        if (!reader->numbered) {
            *initial = *initial || nadir_cursor_equals(word, "init");
        } else if (!nadir_cursor_is_integer(word, &number) || number < 0 || number > reader->largest) {
            return nadir_text_fail(&reader->text, "state %lld: %.*s is not the number of a label",
                                   (long long)*state, NADIR_WORD(word));
        } else {
            *initial = *initial || number == reader->init;
        }
    }
    return NADIR_OK;
}

static nadir_status read_states(label_reader *reader)
{
    nadir_status status = NADIR_OK;
    const int64_t states = reader->builder->states;
    nadir_cursor line;
    bool more;
    NADIR_CHECK(nadir_prism_line(&reader->text, &line, &more));
    while (more) {
        int64_t state;
        bool initial;
        NADIR_CHECK(read_labels_of_state(reader, line, &state, &initial));
        if (state < 0 || state >= states) {
            return nadir_text_fail(&reader->text, "labels of state %lld; the model has the states 0 to %lld",
                                   (long long)state, (long long)states - 1);
        }
        if (initial) {
            NADIR_CHECK(nadir_initial_states_add(reader->text.context, &reader->initial, state));
        }
        NADIR_CHECK(nadir_prism_line(&reader->text, &line, &more));
    }
cleanup:
    return status;
}

nadir_status nadir_prism_read_labels(const char *path, nadir_builder *builder)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = builder->context;
    label_reader reader = {.builder = builder, .init = -1, .largest = -1};
    NADIR_CHECK(nadir_text_open(context, path, &reader.text));
    NADIR_CHECK(read_declaration(&reader));
    NADIR_CHECK(read_states(&reader));
    NADIR_CHECK(nadir_initial_states_apply(&reader.initial, path, builder));
cleanup:
    nadir_text_close(&reader.text);
    nadir_initial_states_clear(context, &reader.initial);
    return status;
}
