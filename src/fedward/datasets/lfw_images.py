"""LFW as its official folder of images, with labels in a CSV file."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import numpy as np

from fedward.base.validate import InvalidValue
from fedward.datasets.directory import MissingFile
from fedward.datasets.faces import SIDE, Faces
from fedward.datasets.files import csv_rows
from fedward.datasets.held_out import choose_held_out
from fedward.datasets.pictures import folders, pictures, read_picture

FOLDERS = ("lfw-deepfunneled", "lfw")
LABELS = "people.csv"
GENDERS = {"female": 0, "male": 1, "0": 0, "1": 1}
OFFICIAL = (250, 250)
BOX = (67, 69, 183, 185)
TEST_SHARE = 0.2

Label = tuple[int, list[float]]


def read_images_of_faces(folder: Path) -> tuple[Faces, Faces]:
    """Training and test faces of the persons in one of the two official folders."""
    for name in FOLDERS:
        if os.path.isfile(folder / name / LABELS):
            return _divide(_read(folder / name))
    raise MissingFile(
        f"{folder} must hold the images of LFW: put the folder {FOLDERS[0]} or {FOLDERS[1]} there, as its "
        f"archive has it, and the labels in {LABELS} inside it (columns name, gender, any properties)"
    )


def _read(folder: Path) -> Faces:
    names, labels = read_labels(folder / LABELS)
    files, found, strangers = [], [], 0
    for person in folders(folder):
        for path in pictures(person):
            label = labels.get(path.stem, labels.get(person.name))
            if label is None:
                strangers += 1
            else:
                files.append(path)
                found.append(label)
    if not files:
        raise InvalidValue(f"{folder / LABELS} must name persons or images of {folder}, but it names none")
    logging.getLogger("fedward").info("%d images that %s does not name are left out", strangers, LABELS)
    x = np.empty((len(files), 3, SIDE, SIDE), dtype=np.uint8)
    for place, path in enumerate(files):
        x[place] = read_picture(path, colour="rgb", expected=OFFICIAL, box=BOX, size=(SIDE, SIDE))
    values = np.array([each for _, each in found], dtype=np.float32).reshape(len(files), len(names))
    return Faces(
        x=x,
        y=np.array([gender for gender, _ in found], dtype=np.int64),
        users=np.array([path.parent.name for path in files]),
        properties={name: values[:, i] for i, name in enumerate(names)},
    )


def _divide(faces: Faces) -> tuple[Faces, Faces]:
    persons = np.unique(faces.users)
    tested = np.isin(faces.users, persons[choose_held_out(persons, TEST_SHARE, "persons")])
    return faces.select(~tested), faces.select(tested)


def read_labels(path: Path) -> tuple[list[str], dict[str, Label]]:
    """The names of the properties, and gender and properties of each person or image."""
    rows = csv_rows(path, "a CSV file of labels")
    _, header = next(rows, (0, []))
    if header[:2] != ["name", "gender"] or len(set(header)) != len(header):
        raise InvalidValue(
            f"{path} must begin with the columns name, gender and then properties, got {', '.join(header)}"
        )
    labels: dict[str, Label] = {}
    for line, row in rows:
        if len(row) != len(header):
            raise InvalidValue(f"{path} must hold {len(header)} columns, but line {line} has {len(row)}")
        name, gender, *values = row
        if name in labels:
            raise InvalidValue(f"{path} must hold every name once, but line {line} has {name!r} again")
        if gender not in GENDERS:
            raise InvalidValue(f"{path} must hold the gender male or female, but line {line} has {gender!r}")
        labels[name] = GENDERS[gender], [_probability(path, line, value) for value in values]
    return header[2:], labels


def _probability(path: Path, line: int, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not 0 <= number <= 1:
        raise InvalidValue(f"{path} must hold properties from 0 to 1, but line {line} has {value!r}")
    return number
