"""Uploads an exported model to the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path

from rewardkit.errors import InputError, reason_of


def push(folder: Path, repository: str) -> str:
    """Upload a folder to a repository, which is created as private if it does not exist.

    Args:
        folder: Folder with a model.
        repository: Repository on the hub, such as `someone/model`.

    Returns:
        Address of the repository.

    Raises:
        InputError: The hub cannot be reached, or refuses the upload. The folder stays as it is.
    """
    from huggingface_hub import HfApi  # transformers depends on this package.

    api = HfApi()
    try:
        created = api.create_repo(repository, private=True, exist_ok=True)
        api.upload_folder(repo_id=created.repo_id, folder_path=folder)
    except Exception as error:  # OSError includes connection, proxy and TLS errors.
        raise InputError(
            f"cannot upload {folder} to {repository}: {reason_of(error)}; run `hf auth login` for a token "
            f"that may write, then `hf upload {repository} {folder}`"
        ) from None
    return str(created)
