/*
 * fake_device.h: a device (core/device.h) that is none: it does its work in memory of its own, which is closed
 * to everyone else. Whoever touches a vector that lies there ends the test. For models on the domain support
 * of which it averages, solves, centres and keeps vectors; what else is asked of it is left to the processor.
 * Include support/support.h first.
 */
#ifndef NADIR_TESTS_FAKE_DEVICE_H
#define NADIR_TESTS_FAKE_DEVICE_H

#include "nadir.h"

/* Gives the context such a device, where it has none. */
void test_pretend_device(nadir_context *context);

#endif
