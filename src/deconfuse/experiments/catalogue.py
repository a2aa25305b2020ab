"""The paper's four datasets: their files, checksums, official places and class names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from deconfuse.errors import InputError

__all__ = ["CATALOGUE", "DataFile", "DatasetSpec", "Download", "dataset_spec"]


@dataclass(frozen=True, slots=True)
class DataFile:
    """One canonical file. The checksum is that of its plain content, compressed on disk or not."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Download:
    """One file to fetch from an official place: a compressed file, or an archive of several."""

    url: str
    sha256: str
    size: int
    is_archive: bool = False

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """What is known of one dataset before a byte of it is read.

    ``releases`` lists the sets of files that hold the whole dataset; any one of them will do.
    """

    name: str
    title: str
    architecture: Literal["small", "large-3", "large-5"]
    is_rotated: bool
    classes: tuple[str, ...]
    folder: str
    releases: tuple[tuple[DataFile, ...], ...]
    downloads: tuple[Download, ...]

    @property
    def transform(self) -> Literal["standardize", "rotate"]:
        """What is done to the images before training: rotation is the paper's, scaling ours."""
        return "rotate" if self.is_rotated else "standardize"

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files of every release."""
        return tuple(file for release in self.releases for file in release)


_MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_FASHION = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
_IDX_SIZES = {
    "train-images-idx3-ubyte": 47_040_016,
    "train-labels-idx1-ubyte": 60_008,
    "t10k-images-idx3-ubyte": 7_840_016,
    "t10k-labels-idx1-ubyte": 10_008,
}


def _idx_files(*checksums: str) -> tuple[tuple[DataFile, ...], ...]:
    pairs = zip(_IDX_SIZES.items(), checksums, strict=True)
    return (tuple(DataFile(name, checksum, size) for (name, size), checksum in pairs),)


def _idx_downloads(place: str, *packed: tuple[str, int]) -> tuple[Download, ...]:
    pairs = zip(_IDX_SIZES, packed, strict=True)
    return tuple(Download(f"{place}{name}.gz", checksum, size) for name, (checksum, size) in pairs)


_SPECS = (
    DatasetSpec(
        name="mnist",
        title="MNIST",
        architecture="small",
        is_rotated=True,
        classes=tuple("0123456789"),
        folder="mnist",
        releases=_idx_files(
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
        downloads=_idx_downloads(
            _MNIST,
            ("440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9_912_422),
            ("3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 28_881),
            ("8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1_648_877),
            ("f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 4_542),
        ),
    ),
    DatasetSpec(
        name="fashion-mnist",
        title="Fashion-MNIST",
        architecture="small",
        is_rotated=True,
        classes=(
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ),
        folder="fashion-mnist",
        releases=_idx_files(
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
        downloads=_idx_downloads(
            _FASHION,
            ("3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84", 26_421_880),
            ("a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845", 29_515),
            ("346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073", 4_422_102),
            ("67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5", 5_148),
        ),
    ),
    DatasetSpec(
        name="cifar10",
        title="CIFAR-10",
        architecture="large-5",
        is_rotated=False,
        classes=(
            "airplane",
            "automobile",
            "bird",
            "cat",
            "deer",
            "dog",
            "frog",
            "horse",
            "ship",
            "truck",
        ),
        folder="cifar-10-batches-bin",
        releases=(
            tuple(
                DataFile(name, checksum, 30_730_000)
                for name, checksum in {
                    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc094"
                    "1787f1244f00a67874d45b261883ada5",
                    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784"
                    "ccd871ecf2137de63f51ada8b3fa57ed",
                    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84d"
                    "ac6670ddf06d79402899d93ceea26f67",
                    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60"
                    "359f5eccd8945ad5a09d710285ff4e48",
                    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fb"
                    "c7d6cd469eb67a1029a08a39453a9add",
                    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc632"
                    "6dba54da8789dab6768acf480273f65b",
                }.items()
            ),
        ),
        downloads=(
            Download(
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                170_052_171,
                is_archive=True,
            ),
        ),
    ),
    DatasetSpec(
        name="stl10",
        title="STL-10",
        architecture="large-3",
        is_rotated=False,
        classes=(
            "airplane",
            "bird",
            "car",
            "cat",
            "deer",
            "dog",
            "horse",
            "monkey",
            "ship",
            "truck",
        ),
        folder="stl10_binary",
        releases=(
            (
                DataFile(
                    "train_X.bin",
                    "fd6ff6b82df7f3bdb4c3a506888012a65a9a1e7fdf5efc0078570737bfa39d82",
                    138_240_000,
                ),
                DataFile(
                    "train_y.bin",
                    "0cd44363fdaae70fdc79bc8a500aef0436bf2476db3292726814afed629d40dc",
                    5_000,
                ),
                DataFile(
                    "test_X.bin",
                    "5763f4f98a73b2c85eba7ba4a846299df17a1f602287ab2bf94be020f931ac20",
                    221_184_000,
                ),
                DataFile(
                    "test_y.bin",
                    "fb12a5783a605f75bc6f5b9f2724596ce2eb5dd4dd82a14f6863c2d66e52560e",
                    8_000,
                ),
            ),
            # The same images, already averaged to 32 x 32 and stored as CIFAR-10's batches are.
            (
                DataFile(
                    "stl10_32_train.bin",
                    "835fa5b292fddf606bfb3a5f1b495d92c1aa69ca36a9c032a6258900c38d9af7",
                    15_365_000,
                ),
                DataFile(
                    "stl10_32_test.bin",
                    "46aa61575da62276b786144a7efbd137066aca168f267dfc32288bedc27cde9c",
                    24_584_000,
                ),
            ),
        ),
        downloads=(
            Download(
                "https://cs.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
                "f31fd99273a1acb8609c8db427cebb1de3f71de77758cdc0e22956e1289b9866",
                2_640_397_119,
                is_archive=True,
            ),
        ),
    ),
)

#: Every dataset by name.
CATALOGUE = {spec.name: spec for spec in _SPECS}


def dataset_spec(name: str) -> DatasetSpec:
    """Return what is known of a dataset.

    Raises
    ------
    InputError
        When there is no dataset of that name.
    """
    if name not in CATALOGUE:
        known = ", ".join(CATALOGUE)
        raise InputError(f"`dataset` must be one of {known}, got {name!r}.")
    return CATALOGUE[name]
