// Rejecting needs a reason: who presses the button without one is led to the field.

const form = document.querySelector("form[data-decide]");

form?.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-reject]") : null;
  const reason = form.querySelector('[name="reason"]');
  if (!button || !(reason instanceof HTMLInputElement)) return;
  reason.required = true;
  if (!reason.value.trim()) {
    event.preventDefault();
    reason.focus();
    reason.reportValidity();
  }
  reason.required = false;
});

// Enter in the field decides nothing by accident.
form?.addEventListener("keydown", (event) => {
  if (event instanceof KeyboardEvent && event.key === "Enter" && event.target instanceof HTMLInputElement) event.preventDefault();
});
