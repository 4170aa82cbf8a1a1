/*
 * cassandra_rules.c: rules with wildcards, sorted so that those of one row are found without a search.
 *
 * Sorted by state, action and end with the wildcard -1 first, the rules of (*, *) come first, then those of
 * (*, 0), (*, 1), ...; then for every state those of (s, *), (s, 0), (s, 1), .... A walk over rows in order
 * keeps a place among the (*, a) and one among the (s, a) and only ever moves them forward.
 */
#include "io/cassandra.h"

#include <stdlib.h>

static int compare_places(const nadir_cassandra_rule *a, const nadir_cassandra_rule *b)
{
    if (a->state != b->state) {
        return a->state < b->state ? -1 : 1;
    }
    return (a->action > b->action) - (a->action < b->action);
}

/* By state, action, end and order; bases count as one end. */
static int compare_rules(const void *left, const void *right)
{
    const nadir_cassandra_rule *a = left;
    const nadir_cassandra_rule *b = right;
    const int places = compare_places(a, b);
    if (places != 0) {
        return places;
    }
    const int32_t a_end = a->end < 0 ? NADIR_CASSANDRA_ANY : a->end;
    const int32_t b_end = b->end < 0 ? NADIR_CASSANDRA_ANY : b->end;
    if (a_end != b_end) {
        return a_end < b_end ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

nadir_status nadir_cassandra_add(nadir_context *context, nadir_cassandra_book *book,
                                 nadir_cassandra_rule rule)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(context, book->rules, book->count + 1, book->capacity);
    rule.order = (int64_t)book->count;
    book->rules[book->count++] = rule;
    book->has_entries = book->has_entries || rule.end >= 0;
    if (book->count > 1 && compare_rules(&book->rules[book->count - 2], &rule) > 0) {
        book->unsorted = true;
    }
cleanup:
    return status;
}

/* Moves what still holds of the group rules[first..end) down to `to`; returns where it ends now. The highest
 * order goes to *newest. */
static size_t reduce_group(nadir_cassandra_rule *rules, size_t first, size_t end, size_t to, int64_t *newest)
{
    size_t entries = first;
    while (entries < end && rules[entries].end < 0) {
        entries++;
    }
    *newest = -1;
    if (entries > first) {
        rules[to] = rules[entries - 1];
        *newest = rules[to++].order;
    }
    const int64_t base_order = *newest;
    for (size_t i = entries; i < end; i++) {
        const bool repeated = i + 1 < end && rules[i + 1].end == rules[i].end;
        if (!repeated && rules[i].order > base_order) {
            *newest = rules[i].order > *newest ? rules[i].order : *newest;
            rules[to++] = rules[i];
        }
    }
    return to;
}

nadir_status nadir_cassandra_settle(nadir_context *context, nadir_cassandra_book *book)
{
    nadir_status status = NADIR_OK;
    if (book->unsorted) {
        qsort(book->rules, book->count, sizeof *book->rules, compare_rules);
    }
    size_t to = 0;
    for (size_t first = 0; first < book->count;) {
        size_t end = first + 1;
        while (end < book->count && compare_places(&book->rules[first], &book->rules[end]) == 0) {
            end++;
        }
        NADIR_RESERVE(context, book->groups, book->group_count + 1, book->group_capacity);
        nadir_cassandra_group *group = &book->groups[book->group_count++];
        *group = (nadir_cassandra_group){book->rules[first].state, book->rules[first].action, to, -1};
        to = reduce_group(book->rules, first, end, to, &group->newest);
        first = end;
    }
    book->count = to;
    NADIR_RESERVE(context, book->groups, book->group_count + 1, book->group_capacity);
    book->groups[book->group_count] = (nadir_cassandra_group){INT32_MAX, INT32_MAX, to, -1};
cleanup:
    return status;
}

void nadir_cassandra_clear(nadir_context *context, nadir_cassandra_book *book)
{
    nadir_release(context, book->rules);
    nadir_release(context, book->groups);
    *book = (nadir_cassandra_book){0};
}

nadir_cassandra_walk nadir_cassandra_walk_start(const nadir_cassandra_book *book)
{
    nadir_cassandra_walk walk = {.book = book};
    if (book->group_count > 0 && book->groups[0].state < 0 && book->groups[0].action < 0) {
        walk.any_any = &book->groups[0];
    }
    while (book->groups[walk.of_state].state < 0) {
        walk.of_state++;
    }
    return walk;
}

/* Adds a group to a row, and its base if that is later than the row's. */
static void add_group(const nadir_cassandra_book *book, const nadir_cassandra_group *group,
                      nadir_cassandra_row *row)
{
    const nadir_cassandra_rule *rules = book->rules + group->first;
    const bool has_base = rules[0].end < 0;
    if (has_base && (row->base == NULL || rules[0].order > row->base->order)) {
        row->base = &rules[0];
    }
    row->parts[row->count].entries = rules + has_base;
    row->parts[row->count].count = group[1].first - group[0].first - has_base;
    row->parts[row->count].newest = group->newest;
    row->count++;
}

/* Leaves out the groups that are older than the row's base as a whole. */
static void drop_overridden(nadir_cassandra_row *row)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < row->count; i++) {
        if (row->parts[i].count > 0 && (row->base == NULL || row->parts[i].newest > row->base->order)) {
            row->parts[kept++] = row->parts[i];
        }
    }
    row->count = kept;
}

void nadir_cassandra_walk_row(nadir_cassandra_walk *walk, int32_t state, int32_t action,
                              nadir_cassandra_row *row)
{
    const nadir_cassandra_book *book = walk->book;
    const nadir_cassandra_group *groups = book->groups;
    if (action == 0) {
        while (groups[walk->of_state].state < state) {
            walk->of_state++;
        }
        walk->state_any = NULL;
        if (groups[walk->of_state].state == state && groups[walk->of_state].action < 0) {
            walk->state_any = &groups[walk->of_state++];
        }
        walk->of_any = 0;
    }
    row->count = 0;
    row->base = NULL;
    while (groups[walk->of_state].state == state && groups[walk->of_state].action < action) {
        walk->of_state++;
    }
    while (groups[walk->of_any].state < 0 && groups[walk->of_any].action < action) {
        walk->of_any++;
    }
    if (groups[walk->of_state].state == state && groups[walk->of_state].action == action) {
        add_group(book, &groups[walk->of_state], row);
    }
    if (groups[walk->of_any].state < 0 && groups[walk->of_any].action == action) {
        add_group(book, &groups[walk->of_any], row);
    }
    if (walk->state_any != NULL) {
        add_group(book, walk->state_any, row);
    }
    if (walk->any_any != NULL) {
        add_group(book, walk->any_any, row);
    }
    drop_overridden(row);
}
