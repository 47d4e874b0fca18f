# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_compilers/crash_guard.c before a driver of four functions, and kernels_hash.py on programs of a few words."""
import ctypes
import os
import struct
import subprocess
import tempfile
from unittest import mock

import kernels_hash
from folder import Folder

TOOLS = os.path.dirname(os.path.abspath(kernels_hash.__file__))
POINTER, LONG, UINT = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32
LOOK_UP = ctypes.CFUNCTYPE(POINTER, POINTER, ctypes.c_char_p)
CREATE_INSTANCE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, POINTER)
CREATE_DEVICE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, POINTER, POINTER)
CREATE_MODULE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, POINTER, ctypes.POINTER(LONG))
CREATE_PIPELINES = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, LONG, UINT, POINTER, POINTER, ctypes.POINTER(LONG))
INSTANCE_INFO, DEVICE_INFO = 47, 48  # VK_STRUCTURE_TYPE_LOADER_*_CREATE_INFO
INVALID_SHADER = -1000012000


def address(thing):
    return ctypes.cast(thing, POINTER).value or 0


def packed(form, *values):
    """A structure of Vulkan's, with its address; the caller keeps it."""
    return ctypes.create_string_buffer(struct.pack(form, *values))


class Driver:
    """Notes what was in flight while it compiled."""

    def __init__(self, flight):
        self.seen = []

        def compile_pipeline(_device, _cache, _count, _infos, _allocator, pipelines):
            self.seen += os.listdir(flight)
            pipelines[0] = 7
            return 0

        def create_module(_device, _info, _allocator, module):
            module[0] = 5
            return 0

        self.functions = {
            b"vkCreateInstance": CREATE_INSTANCE(lambda *_: 0),
            b"vkCreateDevice": CREATE_DEVICE(lambda *_: 0),
            b"vkCreateShaderModule": CREATE_MODULE(create_module),
            b"vkCreateComputePipelines": CREATE_PIPELINES(compile_pipeline),
        }
        self.look_up = LOOK_UP(lambda _, name: address(self.functions[name]) if name in self.functions else None)


class Guard(Folder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.built = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.built.cleanup)
        cls.library = os.path.join(cls.built.name, "guard.so")
        flags = ["-std=c17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"]
        subprocess.run(["cc", *flags, "-o", cls.library, os.path.join(TOOLS, "crash_guard.c")], check=True)

    def setUp(self):
        super().setUp()
        for name in ("flight", "crashed"):
            os.mkdir(self.path(name))
        guarded = mock.patch.dict(os.environ, {"YOLK_CRASH_GUARD": self.folder.name})
        guarded.start()
        self.addCleanup(guarded.stop)
        self.driver = Driver(self.path("flight"))
        interface = packed("iPIPPP", 0, 0, 2, 0, 0, 0)
        layer = ctypes.CDLL(self.library)
        self.assertEqual(layer.vkNegotiateLoaderLayerInterfaceVersion(interface), 0)
        self.of_instance, self.of_device = map(LOOK_UP, struct.unpack("iPIPPP", interface.raw[: struct.calcsize("iPIPPP")])[3:5])
        next_one = address(self.driver.look_up)
        self.begin(self.of_instance, b"vkCreateInstance", CREATE_INSTANCE, INSTANCE_INFO, packed("PPP", 0, next_one, 0), ())
        self.begin(self.of_instance, b"vkCreateDevice", CREATE_DEVICE, DEVICE_INFO, packed("PPP", 0, next_one, next_one), (None,))

    def begin(self, look_up, name, form, kind, link, before):
        chain = packed("iPiP", kind, 0, 0, ctypes.addressof(link))
        info = packed("iP", 0, ctypes.addressof(chain))
        made = LONG()
        self.assertEqual(form(look_up(None, name))(*before, ctypes.addressof(info), None, ctypes.addressof(made)), 0)

    def compile(self, code=b"\3\2#\7abcd", constants=b"\1\0\0\0"):
        """What the program gets, and the name of the file that was there meanwhile."""
        words, values = ctypes.create_string_buffer(code), ctypes.create_string_buffer(constants)
        module, pipeline = LONG(), LONG(9)
        info = packed("iPiNP", 0, 0, 0, len(code), ctypes.addressof(words))
        CREATE_MODULE(self.of_device(None, b"vkCreateShaderModule"))(None, ctypes.addressof(info), None, ctypes.byref(module))
        special = packed("IPNP", 0, 0, len(constants), ctypes.addressof(values))
        # VkComputePipelineCreateInfo: its stage lies within.
        infos = packed("iPi4xiPiiQPPQQi4x", 0, 0, 0, 0, 0, 0, 0, module.value, 0, ctypes.addressof(special), 0, 0, 0)
        create = CREATE_PIPELINES(self.of_device(None, b"vkCreateComputePipelines"))
        self.driver.seen.clear()
        result = create(None, 0, 1, ctypes.addressof(infos), None, ctypes.byref(pipeline))
        return result, pipeline.value, list(self.driver.seen)

    def test_a_pipeline_is_in_flight_while_the_driver_compiles_it(self):
        result, made, seen = self.compile()
        self.assertEqual((result, made, len(seen)), (0, 7, 1))
        self.assertEqual(os.listdir(self.path("flight")), [])

    def test_its_name_is_of_code_and_constants(self):
        names = [self.compile(code, constants)[2] for code in (b"code", b"edoc") for constants in (b"1111", b"2222")]
        self.assertEqual(len({name for (name,) in names}), 4)
        self.assertEqual(self.compile(b"code", b"1111")[2], names[0])

    def test_what_crashed_is_refused_and_the_driver_not_asked(self):
        (name,) = self.compile()[2]
        self.write(f"crashed/{name}", "")
        self.assertEqual(self.compile(), (INVALID_SHADER, 0, []))
        self.assertEqual(self.compile(constants=b"\2\0\0\0")[0], 0)


def module(*words):
    """A header and instructions, each of one word but for the last, a function's end."""
    return struct.pack(f"<{len(words) + 6}I", 0x07230203, 0x10500, 0, 9, 0, *words, 0x10038)


class Kernels(Folder):
    def hash(self, data):
        with open(self.path("yolk"), "wb") as file:
            file.write(data)
        done = self.run_tool(kernels_hash, self.path("yolk"))
        return done.stdout.strip() or done.stderr

    def test_only_the_kernels_count(self):
        one, two = module(0x10001), module(0x10002, 0x10038, 0x10036)
        self.assertRegex(self.hash(one), "^[0-9a-f]{16}$")
        self.assertEqual(self.hash(one + b"text" + two), self.hash(b"an" + two + b"\0\0other" + one + one + b"program"))
        self.assertNotEqual(self.hash(one), self.hash(one + two))
        self.assertNotEqual(self.hash(module(0x10001)), self.hash(module(0x10003)))

    def test_a_number_that_only_looks_like_one(self):
        self.assertEqual(self.hash(module(0x10001)), self.hash(module(0x10001) + b"\3\2#\7" + b"x" * 40))

    def test_a_file_without_kernels(self):
        self.assertIn("it contains no kernel; a yolk that is built is needed", self.hash(b"\3\2#\7 and no more"))
