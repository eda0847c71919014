(** Finite sums and vectors of any length: a vector is a function on indices, of which the first [p] count.
    The inner product and the squared length are sums over these [p] coordinates. *)

From Coq Require Import Reals Lra Lia.
Open Scope R_scope.

(** [sum n f] is f 0 + ... + f (n-1); the empty sum is 0. *)
Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S k => sum k f + f k
  end.

Definition vector := nat -> R.
Definition dot (p : nat) (u v : vector) : R := sum p (fun i => u i * v i).
Definition sq (p : nat) (u : vector) : R := dot p u u.
Definition norm (p : nat) (u : vector) : R := sqrt (sq p u).

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof. induction n as [|n IH]; simpl; intros H; [reflexivity|]. rewrite IH, H by auto with arith. reflexivity. Qed.

Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof.
  induction n as [|n IH]; simpl; intros H; [lra|].
  apply Rplus_le_compat; [apply IH|apply H]; auto with arith.
Qed.

Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n as [|n IH]; simpl; [lra|]. rewrite IH; ring. Qed.

Lemma sum_minus n f g : sum n (fun i => f i - g i) = sum n f - sum n g.
Proof. induction n as [|n IH]; simpl; [lra|]. rewrite IH; ring. Qed.

Lemma sum_scale n c f : sum n (fun i => c * f i) = c * sum n f.
Proof. induction n as [|n IH]; simpl; [ring|]. rewrite IH; ring. Qed.

Lemma sum_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof.
  induction n as [|n IH]; simpl; intros H; [lra|].
  apply Rplus_le_le_0_compat; [apply IH|apply H]; auto with arith.
Qed.

Lemma sum_const n c : sum n (fun _ => c) = INR n * c.
Proof. induction n as [|n IH]; simpl sum; [simpl; ring|]. rewrite IH, S_INR; ring. Qed.

Lemma sum_zero n : sum n (fun _ => 0) = 0.
Proof. rewrite sum_const; ring. Qed.

(** A sum with one term that is not 0 is this term. *)
Lemma sum_single n j f : (j < n)%nat -> (forall i, (i < n)%nat -> i <> j -> f i = 0) -> sum n f = f j.
Proof.
  induction n as [|n IH]; simpl; intros Hj H; [lia|].
  destruct (Nat.eq_dec j n) as [->|Hn].
  - rewrite (sum_ext n f (fun _ => 0)) by (intros; apply H; lia). rewrite sum_zero; ring.
  - rewrite IH by (try lia; intros; apply H; lia). rewrite (H n) by lia. ring.
Qed.

Lemma sq_nonneg p u : 0 <= sq p u.
Proof. apply sum_nonneg; intros; apply Rle_0_sqr. Qed.

Lemma sq_scale p c u : sq p (fun i => c * u i) = c * c * sq p u.
Proof. unfold sq, dot. rewrite <- sum_scale. apply sum_ext; intros; ring. Qed.
