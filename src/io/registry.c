/* registry.c: the list of formats: which one a file is, and what surrounds reading and writing in all of
 * them. */
#include "core/file.h"
#include "core/packed.h"
#include "io/format.h"
#include "io/labels.h"
#include "model/box.h"
#include "model/landing.h"
#include "model/terminal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* In the order in which they are asked; the ones with a magic number first. */
static const nadir_format *const formats[] = {
    &nadir_format_npz, &nadir_format_umb,  &nadir_format_petsc,     &nadir_format_drn,
    &nadir_format_csv, &nadir_format_bmdp, &nadir_format_cassandra, &nadir_format_prism,
};

enum { FORMATS = sizeof formats / sizeof formats[0], HEAD_BYTES = 4096, ENDING_LENGTH = 16 };

void nadir_read_settings_fill(nadir_read_settings *settings, size_t size)
{
    nadir_read_settings made = {0};
    made.discount = NAN;
    nadir_settings_give(settings, size, &made, sizeof made);
}

void nadir_write_settings_fill(nadir_write_settings *settings, size_t size)
{
    nadir_write_settings made = {0};
    nadir_settings_give(settings, size, &made, sizeof made);
}

/* Where the ending of a path starts (its last dot), or its end. */
static size_t ending_start(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    return dot != NULL ? (size_t)(dot - path) : strlen(path);
}

nadir_status nadir_sibling_path(nadir_context *context, const char *path, const char *ending, char **sibling)
{
    nadir_status status = NADIR_OK;
    const size_t stem = ending_start(path);
    char *made = NULL;
    NADIR_NEW(context, made, stem + strlen(ending) + 1);
    memcpy(made, path, stem);
    memcpy(made + stem, ending, strlen(ending) + 1);
    *sibling = made;
cleanup:
    return status;
}

/* The format of the last ending of path[length]. */
static const nadir_format *format_by_ending(const char *path, size_t length)
{
    char wanted[ENDING_LENGTH + 3] = " ";
    size_t start = length;
    while (start > 0 && path[start - 1] != '.' && path[start - 1] != '/') {
        start--;
    }
    if (start == 0 || path[start - 1] != '.' || length - start + 1 < 2 ||
        length - start + 1 > ENDING_LENGTH) {
        return NULL;
    }
    for (size_t i = start - 1; i < length; i++) {
        wanted[i - start + 2] = (char)tolower((unsigned char)path[i]);
    }
    wanted[length - start + 2] = ' ';
    wanted[length - start + 3] = '\0';
    for (size_t i = 0; i < FORMATS; i++) {
        if (strstr(formats[i]->endings, wanted) != NULL) {
            return formats[i];
        }
    }
    return NULL;
}

/* How much of a path stands before the ending of a packed file: all of it where it has none. */
static size_t unpacked_length(const char *path)
{
    return strlen(path) - (nadir_packing_of_name(path) != NADIR_PACKING_NONE ? 3 : 0);
}

/* "npz, petsc, drn, ..." with their endings, for messages. */
static const char *list_formats(char text[512])
{
    size_t used = 0;
    for (size_t i = 0; i < FORMATS; i++) {
        const int length =
            snprintf(text + used, 512 - used, "%s%s (%.*s)", i > 0 ? ", " : "", formats[i]->title,
                     (int)strlen(formats[i]->endings) - 2, formats[i]->endings + 1);
        used += length > 0 ? (size_t)length : 0;
    }
    return text;
}

/* *format is not NULL when all is well. */
static nadir_status find_format(nadir_context *context, const char *path, const nadir_format **format)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    char head[HEAD_BYTES];
    size_t length;
    *format = NULL;
    NADIR_CHECK(nadir_input_open(context, path, &input));
    NADIR_CHECK(nadir_input_read(context, &input, head, sizeof head, &length));
    for (size_t i = 0; i < FORMATS && length > 0 && *format == NULL; i++) {
        *format = formats[i]->recognises(head, length) ? formats[i] : NULL;
    }
    if (*format == NULL && length > 0) {
        *format = format_by_ending(path, unpacked_length(path));
    }
    if (*format == NULL) {
        char list[512];
        (void)(length == 0
                   ? nadir_fail(context, NADIR_ERROR_FORMAT, "%s: the file is empty", path)
                   : nadir_fail(
                         context, NADIR_ERROR_FORMAT,
                         "%s: the content is of no known model format, nor is the ending; known are %s", path,
                         list_formats(list)));
        status = NADIR_ERROR_FORMAT;
    }
cleanup:
    nadir_input_close(&input);
    return status;
}

nadir_status nadir_model_format_of(nadir_context *context, const char *path, const char **title)
{
    nadir_status status = NADIR_OK;
    nadir_input input = NADIR_INPUT_CLOSED;
    char head[HEAD_BYTES];
    size_t length = 0;
    *title = NULL;
    NADIR_CHECK(nadir_input_open(context, path, &input));
    NADIR_CHECK(nadir_input_read(context, &input, head, sizeof head, &length));
    const bool text = length == 0 || memchr(head, '\0', length) == NULL;
    const char *line_end = length > 0 ? memchr(head, '\n', length) : NULL;
    const size_t line = line_end != NULL ? (size_t)(line_end - head) : length;
    const bool table = text && line > 0 && memchr(head, ',', line) != NULL; /* no other begins with a list */
    for (size_t i = 0; i < FORMATS && !table && length > 0 && *title == NULL; i++) {
        *title = formats[i] != &nadir_format_csv && formats[i]->recognises(head, length) ? formats[i]->title
                                                                                         : NULL;
    }
cleanup:
    nadir_input_close(&input);
    return status;
}

nadir_status nadir_file_format(nadir_context *context, const char *path, const char **name)
{
    const nadir_format *format;
    const nadir_status status = find_format(context, path, &format);
    if (status == NADIR_OK) {
        *name = format->name;
    }
    return status;
}

/* A setting that the format would ignore is a mistake of the caller's. */
static nadir_status check_taken(nadir_context *context, const char *path, const nadir_format *format,
                                const nadir_read_settings *settings)
{
    const struct {
        unsigned bit;
        bool given;
        const char *option;
    } settings_of_some[] = {
        {NADIR_TAKES_REWARDS, settings->rewards != NULL, "--rewards"},
        {NADIR_TAKES_LABELS, settings->labels != NULL, "--labels"},
        {NADIR_TAKES_REWARD_MODEL, settings->reward_model != NULL, "--reward-model"},
        {NADIR_TAKES_OUTCOME, settings->outcome != NULL, "--outcome"},
        {NADIR_TAKES_LAYOUT, settings->layout != NADIR_LAYOUT_AUTO, "--layout"},
    };
    for (size_t i = 0; i < sizeof settings_of_some / sizeof *settings_of_some; i++) {
        if (settings_of_some[i].given && (format->takes & settings_of_some[i].bit) == 0) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT, "%s is %s, which has no use for %s", path,
                              format->title, settings_of_some[i].option);
        }
    }
    return NADIR_OK;
}

static void negate(int64_t count, double *values)
{
    for (int64_t i = 0; values != NULL && i < count; i++) {
        values[i] = 0 - values[i]; /* no -0 */
    }
}

/* What the settings say about any format. */
static nadir_status apply_settings(nadir_context *context, const char *path,
                                   const nadir_read_settings *settings, nadir_model *model)
{
    if (!isnan(settings->discount)) {
        model->discount = settings->discount;
    }
    NADIR_TRY(nadir_model_check_discount(context, model, path));
    if (settings->initial != NULL) {
        NADIR_TRY(nadir_initial_read(context, model, settings->initial, model->initial));
    }
    if (settings->costs) { /* NaN stays: not given */
        const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
        negate(model->rows, model->rewards);
        negate(entries, model->transition_rewards);
    }
    model->unseen_value = settings->costs ? 0 - settings->unseen_value : settings->unseen_value;
    const unsigned asked = nadir_terminal_asked(settings);
    NADIR_TRY(nadir_terminal_read(context, model, settings));
    if (asked != 0 || settings->total) {
        NADIR_TRY(nadir_terminal_make(context, model, asked, path));
    }
    return settings->costs || model->unseen >= NADIR_UNSEEN_VALUE || asked != 0
               ? nadir_landing_make(context, model, path)
               : nadir_landing_reshape(context, model, path);
}

nadir_status nadir_model_read(nadir_context *context, const char *path, const nadir_read_settings *settings,
                              nadir_model **model)
{
    nadir_status status = NADIR_OK;
    const nadir_format *format;
    nadir_model *made = NULL;
    nadir_read_settings use;
    nadir_read_settings_default(&use);
    if (settings != NULL && !nadir_settings_copy(&use, sizeof use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the read settings is not set");
    }
    if (!isnan(use.discount) && !(use.discount >= 0 && use.discount <= 1)) {
        return nadir_fail(
            context, NADIR_ERROR_ILL_POSED,
            "the discount is %.10g; expected 0 <= discount <= 1: otherwise returns are infinite",
            use.discount);
    }
    NADIR_CHECK(find_format(context, path, &format));
    NADIR_CHECK(check_taken(context, path, format, &use));
    if (context->engine != NULL && !format->reads_parts) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "%s: %s cannot be read in parts, by an engine; 'nadir convert' turns it into a "
                          "NumPy .npz file",
                          path, format->title);
    }
    NADIR_CHECK(format->read(context, path, &use, &made));
    if (use.successors != NULL) {
        NADIR_CHECK(nadir_successors_apply(context, use.successors, &made));
    }
    NADIR_CHECK(apply_settings(context, path, &use, made));
    *model = made;
    made = NULL;
cleanup:
    nadir_model_free(made);
    return status;
}

int64_t nadir_model_common_actions(const nadir_model *model)
{
    const int64_t actions = model->state_rows[model->states > 0 ? 1 : 0];
    int64_t state = 0;
    while (state <= model->states && model->state_rows[state] == state * actions) {
        state++;
    }
    return state > model->states ? actions : 0;
}

void nadir_probability_write(nadir_output *output, const nadir_model *model, int64_t row,
                             const nadir_row *entries, int64_t i, const char *comma)
{
    if (model->lower == NULL) {
        nadir_output_double(output, entries->values[i]);
        return;
    }
    const int64_t place = model->row_starts[row] + i; /* of CSR rows */
    nadir_output_text(output, "[");
    nadir_output_double(output, model->lower[place]);
    nadir_output_text(output, comma);
    nadir_output_double(output, model->upper[place]);
    nadir_output_text(output, "]");
}

/* What of NADIR_HOLDS_... a model needs. */
static unsigned needs(const nadir_model *model)
{
    const bool ball = model->radius_count > 0 || !isnan(model->norm) || model->set != NADIR_SET_UNSAID ||
                      model->domain != NADIR_DOMAIN_UNSAID;
    unsigned bits = 0;
    bits |= model->rewards != NULL ? NADIR_HOLDS_REWARDS : 0;
    bits |= model->transition_rewards != NULL ? NADIR_HOLDS_TRANSITION_REWARDS : 0;
    for (int64_t i = 0;
         model->transition_rewards != NULL && model->dense != NULL && i < model->rows * model->states; i++) {
        bits |= model->dense[i] == 0 && !isnan(model->transition_rewards[i]) ? NADIR_HOLDS_ZERO_REWARDS : 0;
    }
    bits |= !isnan(model->discount) ? NADIR_HOLDS_DISCOUNT : 0;
    bits |= model->state_names.count > 0 ? NADIR_HOLDS_STATE_NAMES : 0;
    bits |= model->action_names.count > 0 ? NADIR_HOLDS_ACTION_NAMES : 0;
    bits |= model->row_actions != NULL ? NADIR_HOLDS_ACTION_NUMBERS : 0;
    bits |= ball ? NADIR_HOLDS_BALL : 0;
    bits |= model->lower != NULL ? NADIR_HOLDS_BOX : 0;
    bits |= model->weights != NULL ? NADIR_HOLDS_WEIGHTS : 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t end = model->state_rows[s + 1];
        bits |= model->initial[s] != model->initial[0] ? NADIR_HOLDS_INITIAL : 0; /* uniform is the default */
        bits |= end - first != model->state_rows[1] ? NADIR_HOLDS_RAGGED : 0;
        const bool terminal = model->scales != NULL && nadir_model_is_terminal(model, s);
        bits |= terminal ? NADIR_HOLDS_TERMINAL : 0; /* its rows are pinned: no scales of their own */
        for (int64_t row = first; model->scales != NULL && !terminal && row < end; row++) {
            bits |= model->scales[row] != 1 ? NADIR_HOLDS_SCALES : 0;
        }
    }
    return bits;
}

static void say_losses(nadir_context *context, const char *path, unsigned lost)
{
    static const struct {
        unsigned bit;
        const char *what;
    } words[] = {
        {NADIR_HOLDS_REWARDS, "rewards"},
        {NADIR_HOLDS_TRANSITION_REWARDS,
         "rewards of single transitions (their mean is kept: as read back, they are frozen)"},
        {NADIR_HOLDS_ZERO_REWARDS, "rewards of successors of probability 0"},
        {NADIR_HOLDS_DISCOUNT, "the discount"},
        {NADIR_HOLDS_INITIAL, "the initial distribution"},
        {NADIR_HOLDS_SCALES, "row scales"},
        {NADIR_HOLDS_STATE_NAMES, "names of states"},
        {NADIR_HOLDS_ACTION_NAMES, "names of actions"},
        {NADIR_HOLDS_ACTION_NUMBERS, "gaps in action numbers"},
        {NADIR_HOLDS_BALL, "radius, norm, set and domain"},
        {NADIR_HOLDS_TERMINAL, "that terminal rows are known exactly"},
        {NADIR_HOLDS_WEIGHTS, "weights of entries"},
        {NADIR_HOLDS_BOX, "intervals (the nominal kernel is kept)"},
        {NADIR_HOLDS_NOMINAL,
         "the nominal kernel (as read back, it is the point of the box nearest to its middle)"},
    };
    char list[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if ((lost & words[i].bit) != 0) {
            const int length =
                snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? "; " : "", words[i].what);
            used += length > 0 ? (size_t)length : 0;
        }
    }
    if (used > 0) {
        nadir_log(context, NADIR_LOG_WARNING, "written to %s without: %s (.npz keeps all)", path, list);
    }
}

static nadir_status find_write_format(nadir_context *context, const char *path, const nadir_format **format)
{
    char list[512];
    *format = format_by_ending(path, unpacked_length(path));
    return *format != NULL ? NADIR_OK
                           : nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                                        "%s: the ending does not tell the format to write; known are %s",
                                        path, list_formats(list));
}

nadir_status nadir_write_format(nadir_context *context, const char *path, const char **name)
{
    const nadir_format *format;
    const nadir_status status = find_write_format(context, path, &format);
    if (status == NADIR_OK) {
        *name = format->name;
    }
    return status;
}

nadir_status nadir_model_write(nadir_context *context, const nadir_model *model, const char *path,
                               const nadir_write_settings *settings)
{
    nadir_status status = NADIR_OK;
    const nadir_format *format;
    nadir_write_settings use;
    nadir_write_settings_default(&use);
    if (settings != NULL && !nadir_settings_copy(&use, sizeof use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the write settings is not set");
    }
    NADIR_CHECK(find_write_format(context, path, &format));
    NADIR_CHECK(nadir_model_check_one_process(context, model, "writing models"));
    NADIR_CHECK(nadir_terminal_refuse(context, model,
                                      "writing models; leave --goal, --until and the discount of 1 "
                                      "to the command that reads the file"));
    if (use.compress && (format->takes & NADIR_TAKES_COMPRESS) == 0) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "%s is %s, which has no use for --compress", path,
                          format->title);
    }
    unsigned lost = needs(model) & ~format->holds;
    if (model->lower != NULL &&
        (format->holds & (NADIR_HOLDS_BOX | NADIR_HOLDS_NOMINAL)) == NADIR_HOLDS_BOX) {
        bool centred;
        NADIR_CHECK(nadir_box_is_centred(context, model, &centred));
        lost |= centred ? 0 : (unsigned)NADIR_HOLDS_NOMINAL;
    }
    if ((format->holds & NADIR_HOLDS_SCALES) != 0) {
        lost &= ~(unsigned)NADIR_HOLDS_TERMINAL; /* it is written as scale 0 */
    }
    if ((lost & NADIR_HOLDS_RAGGED) != 0) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "%s: %s needs the same number of actions in every state, this model has not", path,
                          format->title);
    }
    say_losses(context, path, lost);
    status = format->write(context, model, path, &use);
cleanup:
    return status;
}
