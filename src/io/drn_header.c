/* drn_header.c: the sections of a .drn file that stand before the model; the grammar is in drn.c. */
#include "io/drn.h"

#include <stdio.h>
#include <string.h>

/* No state is shorter: "state 0\n". */
#define STATE_BYTES 8

/* A section `@name: value` or `@name` and its value on the next line. */
typedef struct section {
    const char *name;
    bool next_line;
    nadir_status (*read)(nadir_drn_reader *reader, nadir_cursor value);
} section;

static nadir_status read_type(nadir_drn_reader *reader, nadir_cursor value)
{
    nadir_cursor type;
    if (!nadir_cursor_take_word(&value, "", &type)) {
        return nadir_text_fail(&reader->text, "no type of model; expected MDP or DTMC");
    }
    reader->chain = nadir_cursor_equals_nocase(type, "DTMC");
    if (!reader->chain && !nadir_cursor_equals_nocase(type, "MDP")) {
        return nadir_text_fail(&reader->text,
                               "a model of type %.*s; only MDPs and Markov chains (DTMC) can be read",
                               NADIR_WORD(type));
    }
    return NADIR_OK;
}

static nadir_status read_value_type(nadir_drn_reader *reader, nadir_cursor value)
{
    nadir_cursor type;
    if (!nadir_cursor_take_word(&value, "", &type) ||
        (!nadir_cursor_equals(type, "double") && !nadir_cursor_equals(type, "rational"))) {
        return nadir_text_fail(&reader->text,
                               "values of type %.*s; only double and rational can be read, no intervals and "
                               "no parameters",
                               NADIR_WORD(type));
    }
    return NADIR_OK;
}

static nadir_status read_parameters(nadir_drn_reader *reader, nadir_cursor value)
{
    if (nadir_cursor_skip_blanks(&value)) {
        return nadir_text_fail(
            &reader->text,
            "the model has the parameters %.*s; give them values in the program that wrote "
            "the file, and write it again",
            NADIR_WORD(value));
    }
    return NADIR_OK;
}

static nadir_status read_placeholders(nadir_drn_reader *reader, nadir_cursor value)
{
    (void)value;
    return nadir_text_fail(&reader->text, "placeholders stand for parametric values, which cannot be read");
}

/* "a, b, c" of all names into text, cut where it is full; returns text. */
static const char *list_names(const nadir_names *names, size_t size, char text[])
{
    size_t used = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < names->count && used < size; i++) {
        const int length =
            snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", nadir_names_get(names, i));
        used += length > 0 ? (size_t)length : 0;
    }
    return text;
}

/* The model that was asked for, else the only one. */
static nadir_status choose_reward_model(nadir_drn_reader *reader)
{
    const nadir_names *models = &reader->models;
    const char *asked = reader->settings->reward_model;
    char list[256];
    for (int64_t i = 0; i < models->count && asked != NULL; i++) {
        if (strcmp(nadir_names_get(models, i), asked) == 0) {
            reader->chosen = i;
            return NADIR_OK;
        }
    }
    if (asked != NULL && models->count == 0) {
        return nadir_text_fail(&reader->text, "reward model %.60s was asked for; the file has none", asked);
    }
    if (asked != NULL) {
        return nadir_text_fail(&reader->text,
                               "no reward model %.60s; the file has %s: take one with --reward-model NAME",
                               asked, list_names(models, sizeof list, list));
    }
    if (models->count > 1) {
        return nadir_text_fail(&reader->text, "%lld reward models, %s: take one with --reward-model NAME",
                               (long long)models->count, list_names(models, sizeof list, list));
    }
    reader->chosen = models->count - 1;
    return NADIR_OK;
}

static nadir_status read_reward_models(nadir_drn_reader *reader, nadir_cursor value)
{
    nadir_status status = NADIR_OK;
    nadir_cursor name;
    while (nadir_cursor_take_word(&value, "", &name)) {
        NADIR_CHECK(
            nadir_names_add(reader->text.context, &reader->models, name.at, (size_t)(name.end - name.at)));
    }
    NADIR_CHECK(choose_reward_model(reader));
cleanup:
    return status;
}

static nadir_status read_states(nadir_drn_reader *reader, nadir_cursor value)
{
    const int64_t bytes = reader->text.input.bytes;
    if (!nadir_cursor_is_integer(value, &reader->states) || reader->states < 1 ||
        reader->states > NADIR_STATES_LIMIT) {
        return nadir_text_fail(&reader->text, "found %.*s; expected the number of states, 1 to %d",
                               NADIR_WORD(value), NADIR_STATES_LIMIT);
    }
    if (reader->states > bytes / STATE_BYTES) {
        return nadir_text_fail(&reader->text,
                               "%lld states declared; a file of %lld bytes cannot hold so many",
                               (long long)reader->states, (long long)bytes);
    }
    return NADIR_OK;
}

static nadir_status read_choices(nadir_drn_reader *reader, nadir_cursor value)
{
    if (!nadir_cursor_is_integer(value, &reader->choices) || reader->choices < 0) {
        return nadir_text_fail(&reader->text, "found %.*s; expected the number of choices",
                               NADIR_WORD(value));
    }
    return NADIR_OK;
}

enum { TYPE, VALUE_TYPE, PARAMETERS, PLACEHOLDERS, REWARD_MODELS, STATES, CHOICES, SECTIONS };

static const section sections[SECTIONS] = {
    [TYPE] = {"@type:", false, read_type},
    [VALUE_TYPE] = {"@value_type:", false, read_value_type},
    [PARAMETERS] = {"@parameters", true, read_parameters},
    [PLACEHOLDERS] = {"@placeholders", false, read_placeholders},
    [REWARD_MODELS] = {"@reward_models", true, read_reward_models},
    [STATES] = {"@nr_states", true, read_states},
    [CHOICES] = {"@nr_choices", true, read_choices},
};

static nadir_status read_section(nadir_drn_reader *reader, nadir_cursor line)
{
    nadir_status status = NADIR_OK;
    int which = 0;
    while (which < SECTIONS && !nadir_cursor_starts(line, sections[which].name)) {
        which++;
    }
    if (which == SECTIONS) {
        return nadir_text_fail(&reader->text,
                               "found %.*s; expected a section such as @type: or @nr_states, or @model",
                               NADIR_WORD(line));
    }
    if (reader->seen & (1U << which)) {
        return nadir_text_fail(&reader->text, "a second %s", sections[which].name);
    }
    reader->seen |= 1U << which;
    nadir_cursor value = {line.at + strlen(sections[which].name), line.end};
    if (sections[which].next_line) {
        bool more;
        NADIR_CHECK(nadir_text_line(&reader->text, &value, &more));
        if (!more) {
            return nadir_text_fail(&reader->text, "the file ends after %s", sections[which].name);
        }
    }
    NADIR_CHECK(sections[which].read(reader, value));
cleanup:
    return status;
}

nadir_status nadir_drn_read_header(nadir_drn_reader *reader)
{
    nadir_status status = NADIR_OK;
    nadir_cursor line;
    bool more;
    reader->choices = -1;
    reader->chosen = -1;
    NADIR_CHECK(nadir_text_line(&reader->text, &line, &more));
    while (more) {
        nadir_cursor word;
        nadir_cursor rest = line;
        if (nadir_cursor_take_word(&rest, "", &word) && nadir_cursor_equals(word, "@model")) {
            break;
        }
        if (word.end > word.at && !nadir_cursor_starts(word, "//")) {
            nadir_cursor_skip_blanks(&line);
            NADIR_CHECK(read_section(reader, line));
        }
        NADIR_CHECK(nadir_text_line(&reader->text, &line, &more));
    }
    if (!more) {
        return nadir_text_fail(&reader->text, "the file ends before @model");
    }
    const unsigned needed = 1U << TYPE | 1U << STATES;
    if ((reader->seen & needed) != needed) {
        return nadir_text_fail(&reader->text, "no %s before @model",
                               reader->seen & (1U << TYPE) ? "@nr_states" : "@type:");
    }
    if (!(reader->seen & (1U << REWARD_MODELS))) {
        NADIR_CHECK(choose_reward_model(reader));
    }
cleanup:
    return status;
}
