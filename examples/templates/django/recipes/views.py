import os

from django.forms import ModelForm
from django.shortcuts import redirect, render

from .models import Recipe


class RecipeForm(ModelForm):
    class Meta:
        model = Recipe
        fields = ["name", "minutes", "steps"]


def recipes(request):
    form = RecipeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        return redirect("/")
    branch = os.environ.get("PLATFORM_BRANCH", "nowhere")
    status = 422 if form.errors else 200
    return render(request, "recipes/recipes.html", {"recipes": Recipe.objects.all(), "form": form, "branch": branch}, status=status)
